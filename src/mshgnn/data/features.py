"""Node features of graphs that come without any."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree, one_hot


def set_constant(graphs: Sequence[Data]) -> None:
    """``x = 1`` for every node."""
    for graph in graphs:
        graph.x = torch.ones(int(graph.num_nodes), 1)


def set_degree(graphs: Sequence[Data], cap: int) -> None:
    """One-hot of the degree, as wide as the data set's largest degree; degrees above ``cap`` share a column.

    One dense tensor is made and every graph gets its rows as a view: 0.7 GB on COLLAB (492 columns), the largest.
    """
    degrees = [_degrees(graph) for graph in graphs]
    features = one_hot(torch.cat(degrees).clamp(max=cap))
    for graph, rows in zip(graphs, features.split([len(part) for part in degrees]), strict=True):
        graph.x = rows


def _degrees(graph: Data) -> Tensor:
    degrees: Tensor = degree(graph.edge_index[1], int(graph.num_nodes), dtype=torch.long)
    return degrees
