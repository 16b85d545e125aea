"""Batches of graphs as padded tensors, for models that look at all pairs of nodes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import to_dense_batch

from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.model import Graphs


def graph_by_graph(x: Tensor, edge_index: Tensor, graphs: Graphs) -> tuple[Tensor, Tensor, Tensor]:
    """Dense ``x [N, F]``, edges ``[2, M]`` and ``batch [N]`` with the nodes of each graph side by side."""
    batch, _ = graphs
    x, edges = as_dense(x), as_edge_index(edge_index, x.size(0), x.size(0))
    if bool((batch[1:] >= batch[:-1]).all()):
        return x, edges, batch
    order = batch.argsort(stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return x[order], place[edges], batch[order]


def largest_graph(batch: Tensor, batch_size: int) -> int:
    """The nodes of the largest graph, at least 1 so that a batch of empty graphs has a shape."""
    return max(1, int(torch.bincount(batch).max())) if batch.numel() and batch_size else 1


def padded(x: Tensor, batch: Tensor, batch_size: int) -> tuple[Tensor, Tensor]:
    """Rows ``[N, d]`` of ordered nodes as ``[B, n, d]``, zero where a graph is smaller, and the mask ``[B, n]``."""
    return to_dense_batch(x, batch, max_num_nodes=largest_graph(batch, batch_size), batch_size=batch_size)
