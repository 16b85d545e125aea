r"""What models of order two see: a tensor over all pairs of nodes, padded over the graphs of a batch.

.. math::
    T_{\cdot \cdot 0} = \hat A, \qquad T_{\cdot \cdot, 1 + f} = \hat A + \mathrm{diag}(x_f), \qquad
    \hat A = D^{-1/2} A D^{-1/2}

The authors of IGN and PPGN feed both networks with it, one-hot labels as features. They never pad: their batches hold
graphs of one size. Here padded cells are zero, and :class:`Pairs` says which they are. No layer of either network looks
from one graph to another, so a batch that would take much memory is computed a few graphs at a time: exact, for the
price of a second forward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from torch_geometric.utils import degree, subgraph, to_dense_adj

from mshgnn.machine import memory_limit
from mshgnn.models.dense import graph_by_graph, largest_graph, padded
from mshgnn.models.memory import check_memory
from mshgnn.nn.model import Graphs

BYTES_AT_ONCE = 2 * 10**9
"""What the pairs of a batch may keep for its backward pass; above, its graphs are computed in groups."""


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
        loops = t.diagonal(dim1=1, dim2=2).transpose(1, 2).masked_fill(~self.nodes.unsqueeze(-1), -torch.inf)
        others = ~torch.eye(t.size(1), dtype=torch.bool, device=t.device)[None, :, :, None]
        rest = t.masked_fill(~(self.cells & others), -torch.inf)
        best = torch.cat([loops.amax(dim=1), rest.amax(dim=(1, 2))], dim=-1)
        return best.masked_fill(best == -torch.inf, 0.0)


def read_pairs(
    read: Callable[[Tensor, Pairs], Tensor],
    x: Tensor,
    edge_index: Tensor,
    graphs: Graphs,
    *,
    model: str,
    channels: int,
) -> Tensor:
    """``read`` of the tensor over pairs of a batch, ``[B, d]``.

    Args:
        read: from the tensor ``[B, n, n, 1 + F]`` and its pairs to ``[B, d]``, each graph for itself.
        x: node features ``[N, F]``.
        edge_index: edges ``[2, M]``.
        graphs: the graph of every node and the number of graphs.
        model: who asks, for the error about a graph that is too large.
        channels: numbers that ``read`` keeps per pair of nodes until the backward pass.
    """
    x, edges, batch = graph_by_graph(x, edge_index, graphs)
    sizes = torch.bincount(batch, minlength=graphs[1])

    def compute(chosen: Tensor) -> Tensor:
        here = torch.isin(batch, chosen)
        inside, _ = subgraph(here, edges, relabel_nodes=True, num_nodes=len(x))
        place = torch.zeros_like(sizes)
        place[chosen] = torch.arange(len(chosen), device=place.device)
        # The graphs of a group keep their order.
        return read(*pair_tensor(x[here], inside, (place[batch[here]], len(chosen))))

    largest, bytes_per_pair = largest_graph(batch, graphs[1]), x.element_size() * channels
    check_memory(f"{model} on a graph of {largest:,} nodes", largest**2 * bytes_per_pair)
    groups = grouped(sizes, bytes_per_pair)
    if len(groups) == 1:
        return read(*pair_tensor(x, edges, (batch, graphs[1])))
    parts = [checkpoint(compute, group, use_reentrant=False) for group in groups]
    return torch.cat(parts)[torch.cat(groups).argsort()]


def grouped(sizes: Tensor, bytes_per_pair: int) -> list[Tensor]:
    """Graphs from the smallest on, as many in a group as are padded within ``BYTES_AT_ONCE``, at least one."""
    limit = min(BYTES_AT_ONCE, memory_limit())

    def fit(count: int, largest: int) -> bool:
        return count * largest**2 * bytes_per_pair <= limit

    if not len(sizes) or fit(len(sizes), int(sizes.max())):
        return [torch.arange(len(sizes), device=sizes.device)]
    groups: list[list[int]] = []
    for graph in sizes.argsort(stable=True).tolist():
        if groups and fit(len(groups[-1]) + 1, int(sizes[graph])):
            groups[-1].append(graph)
        else:
            groups.append([graph])
    return [torch.tensor(sorted(group), device=sizes.device) for group in groups]


def pair_tensor(x: Tensor, edge_index: Tensor, graphs: Graphs) -> tuple[Tensor, Pairs]:
    """The tensor ``[B, n, n, 1 + F]`` of graphs that stand one after the other, from ``x [N, F]`` and edges."""
    batch, size = graphs
    features, mask = padded(x, batch, size)
    adjacency = normalised(edge_index, batch, size, largest_graph(batch, size), x.dtype)
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
