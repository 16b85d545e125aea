"""The forms in which PyG users hold edges, brought to the two the layer works on."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from mshgnn.errors import UserError
from mshgnn.ops import ReceiverCSR, receiver_csr
from mshgnn.ops.graph import EdgeList, Graph, check_csr, is_traced, sum_rows

SPARSE_LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo)


def as_graph(edge_index: object, num_senders: int, num_receivers: int) -> Graph:
    """Edges ``[2, M]``, an ``EdgeIndex`` or a sparse adjacency of receivers by senders, grouped by receiver.

    While a trace is recorded, edges ``[2, M]`` stay in their order.
    """
    if isinstance(edge_index, EdgeIndex):
        for known, size in zip(edge_index.sparse_size(), (num_senders, num_receivers), strict=True):
            if known is not None and known != size:
                raise UserError(f"edge_index has sparse size {edge_index.sparse_size()}, but x has {size} nodes")
        edge_index = edge_index.as_tensor()
    if not isinstance(edge_index, Tensor):
        raise UserError(f"edge_index must be a tensor, got {type(edge_index).__name__}")
    if edge_index.layout == torch.strided:
        if is_traced():
            order = torch.arange(edge_index.size(1), device=edge_index.device)
            return EdgeList(edge_index[0].long(), edge_index[1].long(), order, num_receivers)
        return receiver_csr(edge_index, num_senders, num_receivers)
    if edge_index.layout not in SPARSE_LAYOUTS:
        raise UserError(f"a sparse edge_index must be CSR, CSC or COO, got {edge_index.layout}")
    if tuple(edge_index.shape) != (num_receivers, num_senders):
        raise UserError(
            f"a sparse edge_index must be receivers by senders, {[num_receivers, num_senders]}, "
            f"got {list(edge_index.shape)}"
        )
    adjacency = edge_index if edge_index.layout == torch.sparse_csr else edge_index.to_sparse_csr()
    rowptr, sender = adjacency.crow_indices(), adjacency.col_indices()
    if not torch.compiler.is_compiling():
        check_csr(rowptr, sender, num_senders)
    return ReceiverCSR(rowptr, sender, torch.arange(sender.numel(), device=sender.device))


def as_edge_index(edge_index: object, num_senders: int, num_receivers: int) -> Tensor:
    """The same edges as plain int64 ``[2, M]``, checked; those of a sparse adjacency row by row."""
    graph = as_graph(edge_index, num_senders, num_receivers)
    if isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    assert isinstance(edge_index, Tensor)
    if edge_index.layout == torch.strided:
        return edge_index.long()
    return torch.stack([graph.sender.long(), graph.receiver])


def in_edge_order(rows: Tensor, graph: Graph) -> Tensor:
    """Rows ``[M, *]`` in the order of ``graph``, put back into the order in which the user gave the edges."""
    if isinstance(graph, EdgeList):
        return rows
    return torch.empty_like(rows).index_copy(0, graph.order, rows)


def in_graph_order(rows: Tensor, graph: Graph) -> Tensor:
    """The inverse of :func:`in_edge_order`."""
    return rows if isinstance(graph, EdgeList) else rows[graph.order]


def weight_of_edges(
    edge_weight: Tensor | None, graph: Graph, num_senders: int, dtype: torch.dtype, sender_weight: str
) -> Tensor | None:
    """``c_vu`` in the order of ``graph``: the user's weight of the edge times that of its sender."""
    if edge_weight is not None:
        if edge_weight.shape != graph.sender.shape:
            expected = list(graph.sender.shape)
            raise UserError(
                f"edge_weight must have one number per edge, shape {expected}, got {list(edge_weight.shape)}"
            )
        edge_weight = in_graph_order(edge_weight.to(dtype), graph)
    if sender_weight == "one":
        return edge_weight
    sender = graph.sender.long()
    uses = sum_rows(torch.ones_like(sender, dtype=dtype), sender, num_senders)
    of_sender = uses.clamp(min=1).rsqrt()[sender]
    return of_sender if edge_weight is None else edge_weight * of_sender
