"""The graph neural tangent kernel with a support vector machine: an infinitely wide network without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, diags
from torch_geometric.data import Batch, Data

from mshgnn.evaluation.wl import class_ids, wl_colourings
from mshgnn.models.controls.labels import Labels, checked_labels
from mshgnn.models.controls.machine import support_vector_machine
from mshgnn.models.memory import check_memory

Scale = Literal["uniform", "degree"]
Matrix = NDArray[np.float64]


class GNTK:
    r"""A support vector machine on the kernel of an infinitely wide graph network (Du et al., 2019).

    For two graphs with :math:`\tilde A = A + I` and :math:`c` either 1 or :math:`1 / (\tilde d_u \tilde d'_v)`:

    .. math::
        S \leftarrow X X'^\top; \qquad J \leftarrow S; \qquad \text{then in every block}

        S, T \leftarrow c \odot \tilde A S \tilde A'^\top, \; c \odot \tilde A T \tilde A'^\top; \qquad
        R \text{ times:} \quad
        S \leftarrow \sigma \sigma'^\top \odot \tfrac{\rho (\pi - \arccos \rho) + \sqrt{1 - \rho^2}}{\pi}, \;
        T \leftarrow T \odot \tfrac{\pi - \arccos \rho}{\pi} + S; \qquad
        J \leftarrow J + T

    with :math:`\sigma_u^2 = S_{uu}` and :math:`\rho = S / \sigma \sigma'^\top`. ``T`` starts as the first aggregated
    ``S``. The kernel is :math:`2 \sum J`.

    A row of ``S`` and ``T`` after ``b`` blocks depends on the node's 1-WL colour after ``b`` rounds alone. So all of it
    is computed between colours, once for all graphs, and summed with the counts of the colours: exact, and far
    smaller than all pairs of nodes.

    The authors choose the penalty on the test folds; here a cross-validation inside the training graphs chooses it, on
    the kernel of unit length, :math:`k / \sqrt{k_{ii} k_{jj}}`. Features are taken as they are: the authors give sets
    without labels the one-hot degree.

    Args:
        blocks: aggregations; the authors' ``num_layers`` is one more.
        perceptrons: nonlinear layers ``R`` per block.
        scale: ``c``: ``"uniform"`` or ``"degree"``.
        jumping: sum ``T`` over all blocks, as the authors always do, or take the last.
    """

    def __init__(self, blocks: int = 2, perceptrons: int = 2, scale: Scale = "uniform", jumping: bool = True) -> None:
        self.blocks = blocks
        self.perceptrons = perceptrons
        self.scale = scale
        self.jumping = jumping

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Compute the kernel of the training graphs, choose the penalty and fit."""
        labels = checked_labels(graphs, y)
        self.graphs_ = list(graphs)
        self.machine_ = support_vector_machine(labels)
        self.machine_.fit(_of_unit_length(self.kernel(graphs)), labels)
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The class of every graph."""
        if not graphs:
            return np.empty(0, dtype=np.int64)
        both = _of_unit_length(self.kernel([*graphs, *self.graphs_]))
        return np.asarray(self.machine_.predict(both[: len(graphs), len(graphs) :]), dtype=np.int64)

    def kernel(self, graphs: Sequence[Data]) -> Matrix:
        """The kernel between all graphs, ``[G, G]``."""
        first, *rounds = self._colours(graphs)
        s = t = first.features @ first.features.T
        result = _summed(s, first.counts) if self.jumping else np.zeros((len(graphs), len(graphs)))
        for number, colours in enumerate(rounds):
            s = colours.mean @ (colours.mean @ s).T
            t = s if number == 0 else colours.mean @ (colours.mean @ t).T
            for _ in range(self.perceptrons):
                s, slope = _rectified(s)
                t = t * slope + s
            if self.jumping or colours is rounds[-1]:
                result += _summed(t, colours.counts)
        return 2 * result

    def _colours(self, graphs: Sequence[Data]) -> list[_Colours]:
        """The colours of every round, from the features on."""
        batch = Batch.from_data_list([Data(x=graph.x, edge_index=graph.edge_index) for graph in graphs])
        sender, receiver = batch.edge_index.numpy()
        loops = np.arange(batch.num_nodes)
        rows, columns = np.concatenate([receiver, loops]), np.concatenate([sender, loops])
        closed = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(batch.num_nodes, batch.num_nodes))
        if self.scale == "degree":
            closed = diags(1 / np.asarray(closed.sum(axis=1)).reshape(-1)) @ closed
        found: list[_Colours] = []
        below = loops
        for colouring in wl_colourings(graphs, self.blocks):
            ids = class_ids(colouring.nodes)
            examples = np.unique(ids, return_index=True)[1]
            # Five matrices of float64 at once: both covariances, their lengths, angles and slopes.
            check_memory(f"GNTK between {len(examples):,} colours", 40 * len(examples) ** 2)
            counts = csr_matrix((np.ones(len(ids)), (batch.batch.numpy(), ids)), shape=(len(graphs), len(examples)))
            # A colour of this round sees the colours of the round below, whichever of its nodes is asked.
            merged = csr_matrix((np.ones(len(below)), (loops, below)))
            features = batch.x.double().numpy()[examples]
            found.append(_Colours(features, counts, closed[examples] @ merged))
            below = ids
        return found


class _Colours(NamedTuple):
    """The ``K`` colours of a round: one node's features, how often each is in a graph, and what each aggregates."""

    features: Matrix
    counts: csr_matrix
    mean: csr_matrix


def _rectified(s: Matrix) -> tuple[Matrix, Matrix]:
    """The covariance after ReLU and its derivative's, from that before, ``[K, K]``."""
    length = np.sqrt(np.diag(s))
    product = np.outer(length, length)
    rho = np.clip(np.divide(s, product, out=np.zeros_like(s), where=product > 0), -1, 1)
    np.fill_diagonal(rho, 1)  # arccos makes 1e-8 of a last bit that is missing to 1
    slope = (np.pi - np.arccos(rho)) / np.pi
    return product * (rho * slope + np.sqrt(1 - rho**2) / np.pi), slope


def _summed(between_colours: Matrix, counts: csr_matrix) -> Matrix:
    summed: Matrix = counts @ (counts @ between_colours.T).T
    return summed


def _of_unit_length(kernel: Matrix) -> Matrix:
    length = np.sqrt(np.diag(kernel))
    product = np.outer(length, length)
    # A graph without nodes is orthogonal to all.
    return np.divide(kernel, product, out=np.zeros_like(kernel), where=product > 0)
