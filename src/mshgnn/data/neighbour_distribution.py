r"""A node's targets are functions of the distribution of its neighbours' values.

Random graphs with one normal value :math:`x_v` per node. The targets of a node, each scaled to mean 0 and variance 1
over the training graphs:

- ``mean``, ``deviation`` and ``maximum`` of its neighbours' values,
- ``near``: how many of them lie within a half of its own,
- ``above``: the share of them that is larger than its own.

The first is what a mean of neighbours can say. The others need the spread of the values, or both ends of an edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.union import union

TARGETS = ("mean", "deviation", "maximum", "near", "above")
NEAR = 0.5
DIGITS = 6
"""Targets are rounded to so many places: sums differ in their last bits from processor to processor."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NeighbourDistribution:
    """Generator of the task; ``generate()`` gives the data set, split 60/20/20 by whole graphs.

    Args:
        graphs: how many, at least 5.
        nodes: nodes of each.
        degrees: smallest and largest mean degree of a graph; that of each is drawn evenly from between.
        seed: of everything random.
    """

    graphs: int = 200
    nodes: int = 100
    degrees: tuple[float, float] = (3.0, 15.0)
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that have no meaning."""
        low, high = self.degrees
        if self.graphs < 5:
            raise DataError(f"graphs must be at least 5, not {self.graphs}")
        if not 0 < low <= high <= self.nodes - 1:
            raise DataError(f"degrees must be in order and within 0..{self.nodes - 1}, not {self.degrees}")

    def generate(self) -> GraphDataset:
        """Make the graphs, and of them the one graph of a node task."""
        random = np.random.default_rng(self.seed)
        parts = ["train" if i % 5 < 3 else "val" if i % 5 == 3 else "test" for i in range(self.graphs)]
        made = [self._graph(random) for _ in parts]
        known = np.concatenate([targets for (_, _, targets), part in zip(made, parts, strict=True) if part == "train"])
        mean, deviation = known.mean(axis=0), known.std(axis=0)
        graphs = [
            Data(
                x=torch.from_numpy(values).float().unsqueeze(1),
                edge_index=torch.from_numpy(np.stack(np.nonzero(adjacency))),
                y=torch.from_numpy(((targets - mean) / deviation).round(DIGITS)),
            )
            for adjacency, values, targets in made
        ]
        return from_graphs(
            [union(graphs, parts)],
            name="neighbour-distribution",
            task="node",
            objective="regress",
            metric="mse",
            target_names=TARGETS,
        )

    def _graph(self, random: np.random.Generator) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
        """Adjacency, values ``[n]`` and targets ``[n, 5]`` of one graph in which every node has a neighbour."""
        n, chance = self.nodes, random.uniform(*self.degrees) / (self.nodes - 1)
        upper = np.triu(random.random((n, n)) < chance, k=1)
        for node in np.flatnonzero(~(upper | upper.T).any(axis=0)):
            other = (node + random.integers(1, n)) % n
            upper[min(node, other), max(node, other)] = True
        values = random.standard_normal(n)
        adjacency = upper | upper.T
        return adjacency, values, neighbour_targets(adjacency, values)


def neighbour_targets(adjacency: npt.NDArray[np.bool_], values: Floats) -> Floats:
    """The five targets of every node as they are, ``[n, 5]``; each needs a neighbour."""
    rows = [values[neighbours] for neighbours in adjacency]
    return np.array(
        [
            (
                them.mean(),
                them.std(),
                them.max(),
                np.sum(np.abs(them - own) < NEAR),
                np.mean(them > own),
            )
            for them, own in zip(rows, values, strict=True)
        ]
    )
