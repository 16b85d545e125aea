"""Controls that learn nothing of what a graph network learns: every result is to be read beside them.

All follow scikit-learn's ``fit(graphs, y)`` and ``predict(graphs)``. The structure-agnostic perceptron is an
ordinary model, ``mlp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric.data import Data
from torch_geometric.utils import degree

from mshgnn.baselines.labels import Labels, checked_labels, majority
from mshgnn.baselines.wl import Initial, has_constant_features, wl_colourings
from mshgnn.baselines.wl_kernel import WLKernel


class Control(Protocol):
    """What every control can do."""

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Learn from graphs and their classes."""

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The class of every graph."""


class Majority:
    """Always the most frequent class of the training graphs (the smallest one of a tie)."""

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Count the classes."""
        self.label_ = majority(checked_labels(graphs, y))
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The same class for all."""
        return np.full(len(graphs), self.label_, dtype=np.int64)


class WLLookup:
    """A table from 1-WL colours to classes: knows by heart what it has seen, and generalises nothing.

    Every colour has the majority class of its training graphs; an unknown colour gets the majority class of
    all. The first colour is the feature row, or the degree where the features are constant.
    """

    def __init__(self, rounds: int = 3) -> None:
        """Refine the colours so many rounds."""
        self.rounds = rounds

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Fill the table."""
        labels = checked_labels(graphs, y)
        self.initial_: Initial = "degree" if has_constant_features(graphs) else "features"
        self.label_ = majority(labels)
        seen: dict[bytes, list[int]] = {}
        for colour, label in zip(self._colours(graphs), labels.tolist(), strict=True):
            seen.setdefault(colour, []).append(label)
        self.table_ = {colour: majority(np.array(found)) for colour, found in seen.items()}
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """Look every graph up."""
        found = [self.table_.get(colour, self.label_) for colour in self._colours(graphs)]
        return np.array(found, dtype=np.int64)

    def _colours(self, graphs: Sequence[Data]) -> list[bytes]:
        if not graphs:
            return []
        return [row.tobytes() for row in wl_colourings(graphs, self.rounds, self.initial_)[-1].graphs]


class NearestNeighbours:
    """A vote of the nearest training graphs, by the signal's Rayleigh quotient and the degree statistics.

    Each number is scaled to unit variance over the training graphs. On the joint structure-frequency task the
    quotient is the eigenvalue of the mode, so this control sees both factors of the class without learning.
    """

    def __init__(self, neighbours: int = 5) -> None:
        """Let so many training graphs vote (fewer when there are fewer)."""
        self.neighbours = neighbours

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Keep the statistics of the training graphs."""
        labels = checked_labels(graphs, y)
        vote = KNeighborsClassifier(n_neighbors=min(self.neighbours, len(graphs)))
        self.pipeline_: Pipeline = make_pipeline(StandardScaler(), vote)
        self.pipeline_.fit(graph_statistics(graphs), labels)
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """Vote on every graph."""
        if not graphs:
            return np.empty(0, dtype=np.int64)
        return np.asarray(self.pipeline_.predict(graph_statistics(graphs)), dtype=np.int64)


CONTROLS: dict[str, type[Control]] = {
    "majority": Majority,
    "wl-lookup": WLLookup,
    "wl-kernel": WLKernel,
    "knn": NearestNeighbours,
}


def graph_statistics(graphs: Sequence[Data]) -> NDArray[np.float64]:
    """Rayleigh quotient and mean, standard deviation, minimum, maximum of the degrees: ``[G, 5]``."""
    return np.array([[rayleigh_quotient(graph), *_degree_statistics(graph)] for graph in graphs])


def rayleigh_quotient(graph: Data) -> float:
    """``x^T L x / x^T x`` with ``L = D - A``, summed over feature columns; 0 for a signal that is zero.

    An undirected edge is listed in both directions: ``x^T L x`` is half the sum of squared differences.
    """
    signal = graph.x.double()
    sender, receiver = graph.edge_index
    energy = float(signal.square().sum())
    # Columns that are constant over the graph, most of a one-hot degree, have no differences to sum.
    signal = signal[:, (signal != signal[:1]).any(dim=0)]
    return float((signal[sender] - signal[receiver]).square().sum()) / 2 / energy if energy else 0.0


def _degree_statistics(graph: Data) -> tuple[float, float, float, float]:
    degrees = degree(graph.edge_index[1], graph.num_nodes).numpy()
    if not degrees.size:
        return (0.0, 0.0, 0.0, 0.0)
    return (float(degrees.mean()), float(degrees.std()), float(degrees.min()), float(degrees.max()))
