r"""What models of order two see: a tensor over all pairs of nodes, padded over the graphs of a batch.

.. math::
    T_{\cdot \cdot 0} = \hat A, \qquad T_{\cdot \cdot, 1 + f} = \hat A + \mathrm{diag}(x_f), \qquad
    \hat A = D^{-1/2} A D^{-1/2}

The authors of IGN and PPGN feed both networks with it, one-hot labels as features. They never pad: their batches hold
graphs of one size. Here padded cells are zero, and :class:`Pairs` says which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.utils import degree, to_dense_adj

from mshgnn.models.dense import graph_by_graph, largest_graph, padded
from mshgnn.models.memory import check_memory
from mshgnn.nn.model import Graphs


@dataclass(frozen=True)
class Pairs:
    """Which cells of ``[B, n, n, *]`` belong to a graph, from the mask ``[B, n]`` of nodes."""

    nodes: Tensor

    @cached_property
    def cells(self) -> Tensor:
        """``[B, n, n, 1]``: both nodes are there."""
        return (self.nodes[:, :, None] & self.nodes[:, None]).unsqueeze(-1)

    @cached_property
    def sizes(self) -> Tensor:
        """The nodes of every graph, at least 1: ``[B, 1]``."""
        return self.nodes.sum(1, keepdim=True).clamp(min=1)

    def only(self, t: Tensor) -> Tensor:
        """``[B, n, n, d]`` with zeros in padded cells."""
        return t * self.cells

    def maxima(self, t: Tensor) -> Tensor:
        """The maximum over the diagonal and over the rest, ``[B, 2 d]``; 0 where there is no cell to look at."""
        loop = torch.eye(t.size(1), dtype=torch.bool, device=t.device)[None, :, :, None]
        parts = [t.masked_fill(~(self.cells & where), -torch.inf).amax(dim=(1, 2)) for where in (loop, ~loop)]
        best = torch.cat(parts, dim=-1)
        return best.masked_fill(best == -torch.inf, 0.0)


def pair_tensor(x: Tensor, edge_index: Tensor, graphs: Graphs, *, model: str, channels: int) -> tuple[Tensor, Pairs]:
    """The tensor ``[B, n, n, 1 + F]`` of a batch.

    Args:
        x: node features ``[N, F]``.
        edge_index: edges ``[2, M]``.
        graphs: the graph of every node and the number of graphs.
        model: who asks, for the error about a batch that is too large.
        channels: numbers that the model will keep per pair of nodes until the backward pass.
    """
    size = graphs[1]
    x, edges, batch = graph_by_graph(x, edge_index, graphs)
    nodes = largest_graph(batch, size)
    check_memory(
        f"{model} on a batch of {size} with up to {nodes:,} nodes per graph",
        x.element_size() * size * nodes**2 * channels,
    )
    features, mask = padded(x, batch, size)
    adjacency = normalised(edges, batch, size, nodes, x.dtype)
    t = torch.cat([adjacency, adjacency + torch.diag_embed(features.transpose(1, 2)).movedim(1, -1)], dim=-1)
    return t, Pairs(mask)


def normalised(edge_index: Tensor, batch: Tensor, batch_size: int, nodes: int, dtype: torch.dtype) -> Tensor:
    """``D^{-1/2} A D^{-1/2}`` of every graph, ``[B, nodes, nodes, 1]``; nodes without an edge have rows of zeros."""
    sender, receiver = edge_index
    root = degree(receiver, len(batch), dtype=dtype).clamp(min=1).sqrt()
    weights = 1 / (root[sender] * root[receiver])
    if not len(batch):
        return weights.new_zeros(batch_size, nodes, nodes, 1)
    return to_dense_adj(edge_index, batch, weights, nodes, batch_size).unsqueeze(-1)
