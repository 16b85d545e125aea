"""Messages that are sums over neighbours, as one product with a sparse adjacency: no tensor of messages is made."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, SAGEConv

from mshgnn.nn.edges import as_graph
from mshgnn.ops.graph import ReceiverCSR, is_traced

SPARSE_PRODUCTS = (GINConv, SAGEConv)
"""Messages that PyG aggregates as a product with a sparse adjacency. GCNConv would, too, but treats loops otherwise."""


def sum_neighbours(messages: Iterable[nn.Module]) -> bool:
    """Whether all messages are such sums, and no explainer or trace wants to see them edge by edge."""
    return not is_traced() and all(isinstance(message, SPARSE_PRODUCTS) and not message.explain for message in messages)


def receiver_rows(edge_index: Tensor, h: Tensor) -> Tensor:
    """The adjacency with receivers as rows, sparse CSR ``[N, N]``."""
    csr = as_graph(edge_index, len(h), len(h))
    assert isinstance(csr, ReceiverCSR)
    ones = h.new_ones(csr.sender.numel())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(csr.rowptr, csr.sender, ones, (len(h), len(h)), check_invariants=False)
