"""The Weisfeiler-Lehman subtree kernel with a support vector machine: what needs no network and is hard to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize
from torch_geometric.data import Data

from mshgnn.evaluation.wl import Colours, Initial, has_constant_features, wl_colourings
from mshgnn.models.controls.labels import Labels, checked_labels
from mshgnn.models.controls.machine import support_vector_machine


class WLKernel:
    r"""A support vector machine on how often every 1-WL colour occurs in a graph.

    .. math::
        k(G, G') = \frac{\langle c(G), c(G') \rangle}{\lVert c(G) \rVert \, \lVert c(G') \rVert}

    :math:`c(G)` counts the nodes of every colour after :math:`0, 1, \dots` rounds, side by side (Shervashidze et al.,
    2011). A cross-validation inside the training graphs chooses the machine's penalty, so that nothing else
    is seen. The first colour is the feature row, or the degree where the features are constant.
    """

    def __init__(self, rounds: int = 3) -> None:
        """Refine the colours so many rounds."""
        self.rounds = rounds

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Number the colours of the training graphs, choose the penalty and fit."""
        labels = checked_labels(graphs, y)
        self.initial_: Initial = "degree" if has_constant_features(graphs) else "features"
        self.columns_: dict[bytes, int] = {}
        self.counts_ = self._counts(graphs, self.columns_)
        self.machine_ = support_vector_machine(labels)
        self.machine_.fit(self._kernel(self.counts_), labels)
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The class of every graph."""
        if not graphs:
            return np.empty(0, dtype=np.int64)
        # A colour that no training graph has adds to the norm alone: in the product with a training graph it is zero.
        counts = self._counts(graphs, dict(self.columns_))[:, : len(self.columns_)]
        return np.asarray(self.machine_.predict(self._kernel(counts)), dtype=np.int64)

    def _kernel(self, counts: csr_matrix) -> NDArray[np.float64]:
        """Similarity of every graph with every training graph: ``[G, training graphs]``."""
        dense: NDArray[np.float64] = (counts @ self.counts_.T).toarray()
        return dense

    def _counts(self, graphs: Sequence[Data], columns: dict[bytes, int]) -> csr_matrix:
        """Counts of all colours, each row of length 1: ``[G, colours]``; a new colour gets the next of the columns."""
        colours, owner = self._coloured(graphs)
        places = np.array([columns.setdefault(row.tobytes(), len(columns)) for row in colours], dtype=np.int64)
        counts = csr_matrix((np.ones(len(places)), (owner, places)), shape=(len(graphs), len(columns)))
        return normalize(counts)

    def _coloured(self, graphs: Sequence[Data]) -> tuple[Colours, NDArray[np.int64]]:
        """The colours of all rounds end to end (no round has a colour of another), and the graph of each."""
        owner = np.repeat(np.arange(len(graphs)), [graph.num_nodes for graph in graphs])
        rounds = [colouring.nodes for colouring in wl_colourings(graphs, self.rounds, self.initial_)]
        return np.concatenate(rounds), np.tile(owner, len(rounds))
