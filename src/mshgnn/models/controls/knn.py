"""Nearest neighbours by a few statistics of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric.data import Data
from torch_geometric.utils import degree

from mshgnn.models.controls.labels import Labels, checked_labels


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
