r"""PNA's multi-task benchmark (Corso et al., 2020): what a graph's structure says of its nodes and of itself.

Graphs of the mixture in :mod:`mshgnn.data.graph_families`. A node has two features, whether it is the source and an
even random value :math:`x_v`. Its targets are the distance from the source (0 where there is no path), its eccentricity
among the nodes that it reaches, and :math:`(L x)_v`; a graph's are whether it is connected, its diameter (of the
largest distance there is), and the spectral radius of its adjacency matrix. Each is divided by its largest value in
training, and the figure of merit is the mean over targets of the log10 of the squared error.

As the authors have it: 512 graphs of each size from 15 to 24 for training, 128 of each from 15 to 19 for validation,
256 of each from 15 to 19 for testing. ``larger`` tests on 64 graphs of each size from 25 to 49 instead. The authors
train one model on all six targets; here the targets of nodes and those of graphs are two data sets on the same graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.graph_families import Matrix, mixed_graph
from mshgnn.data.union import union

NODE_TARGETS = ("distance", "eccentricity", "laplacian")
GRAPH_TARGETS = ("connected", "diameter", "spectral_radius")
DIGITS = 6
"""Targets are rounded to so many places: LAPACK's last bits differ from machine to machine."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PNAMultitask:
    """Generator of the benchmark; ``generate()`` gives the data set of the targets of nodes, or of graphs.

    Args:
        targets: ``"nodes"`` or ``"graphs"``.
        larger: test on larger graphs.
        share: of the authors' number of graphs.
        seed: of everything random.
    """

    targets: Literal["nodes", "graphs"] = "nodes"
    larger: bool = False
    share: float = 1.0
    seed: int = 1234

    def __post_init__(self) -> None:
        """Refuse settings that have no meaning."""
        if self.targets not in ("nodes", "graphs"):
            raise DataError(f"targets must be 'nodes' or 'graphs', not {self.targets!r}")
        if not 0.01 <= self.share <= 1:
            raise DataError(f"share must be in 0.01..1, not {self.share}")

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return f"pna-multitask-{self.targets}{'-larger' if self.larger else ''}"

    def generate(self) -> GraphDataset:
        """Make the graphs; the division is inside."""
        random = np.random.default_rng(self.seed)
        # Training and validation graphs come first, so that those of ``larger`` are the same.
        plan = {
            "train": (range(15, 25), 512),
            "val": (range(15, 20), 128),
            "test": (range(25, 50), 64) if self.larger else (range(15, 20), 256),
        }
        parts, graphs = [], []
        for part, (sizes, each) in plan.items():
            for n in np.repeat(sizes, max(1, round(self.share * each))).tolist():
                graphs.append(self._graph(n, random))
                parts.append(part)
        known = torch.cat([graph.y for graph, part in zip(graphs, parts, strict=True) if part == "train"])
        largest = known.max(dim=0).values
        for graph, part in zip(graphs, parts, strict=True):
            graph.y = (graph.y / largest).round(decimals=DIGITS)
            graph.split = part
        return from_graphs(
            graphs if self.targets == "graphs" else [union(graphs, parts)],
            name=self.name,
            task="graph" if self.targets == "graphs" else "node",
            objective="regress",
            metric="log10_mse",
            target_names=GRAPH_TARGETS if self.targets == "graphs" else NODE_TARGETS,
        )

    def _graph(self, n: int, random: np.random.Generator) -> Data:
        """One graph with its targets as they are, ``[n, 3]`` or ``[1, 3]``."""
        adjacency = mixed_graph(n, random)
        values, source = random.random(n), int(random.integers(n))
        distances = shortest_path(adjacency, unweighted=True)
        if self.targets == "nodes":
            targets = node_targets(adjacency, distances, values, source)
        else:
            targets = graph_targets(adjacency, distances)[None]
        return Data(
            x=torch.from_numpy(np.stack([np.arange(n) == source, values], axis=1)).float(),
            edge_index=torch.from_numpy(np.stack(np.nonzero(adjacency))),
            y=torch.from_numpy(targets),
        )


def node_targets(adjacency: Matrix, distances: Floats, values: Floats, source: int) -> Floats:
    """Distance from the source, eccentricity and ``L x``, ``[n, 3]``."""
    reached = np.where(np.isinf(distances), 0.0, distances)
    laplacian = adjacency.sum(axis=1) * values - adjacency @ values
    return np.stack([reached[source], reached.max(axis=0), laplacian], axis=1)


def graph_targets(adjacency: Matrix, distances: Floats) -> Floats:
    """Whether it is connected, its diameter and the spectral radius, ``[3]``."""
    within = np.isfinite(distances)
    radius = np.abs(np.linalg.eigvalsh(adjacency.astype(np.float64))).max()
    return np.array([within.all(), distances[within].max(), radius])
