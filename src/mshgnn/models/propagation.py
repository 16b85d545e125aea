r"""Predict, then propagate: what APPNP, GPR-GNN and NAGphormer share.

:math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}` with :math:`\tilde D` the degrees of :math:`A + I`; a loop that
is there already is not doubled. The weights are PyG's ``gcn_norm``, the product with them is PyG's ``SimpleConv``.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model

Weighted = tuple[Tensor, Tensor]
"""Edges ``[2, M + N]``, loops included, and the entry of :math:`\\hat A` for each, ``[M + N]``."""

_product = SimpleConv(aggr="sum")


def normalised(edge_index: Tensor, num_nodes: int, dtype: torch.dtype) -> Weighted:
    r"""The edges of :math:`\hat A` and their entries."""
    edges = as_edge_index(edge_index, num_nodes, num_nodes)
    return gcn_norm(edges, num_nodes=num_nodes, dtype=dtype)


def propagate(h: Tensor, adjacency: Weighted) -> Tensor:
    r""":math:`\hat A h`, ``[N, d]``."""
    return _product(h, *adjacency)


def hops(h: Tensor, adjacency: Weighted, num_hops: int) -> Iterator[Tensor]:
    r""":math:`h, \hat A h, \dots, \hat A^K h`, each ``[N, d]``."""
    yield h
    for _ in range(num_hops):
        h = propagate(h, adjacency)
        yield h


def drop_features(x: Tensor, share: float, training: bool) -> Tensor:
    """Dropout of input features, dense or sparse; of sparse ones the entries that are not zero are enough."""
    if x.layout == torch.strided:
        return dropout(x, share, training)
    if not training or share == 0:
        return x
    x = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
    values = dropout(x.values(), share)
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)


class PredictThenPropagate(Model):
    r"""A perceptron on the features of each node; what it predicts spreads over the graph.

    .. math::
        H = \mathrm{relu}(\mathrm{drop}(X) W_1), \qquad Z = \mathrm{propagation}(\mathrm{drop}(H) W_2)

    Propagation is linear and comes last, at the width of the classes. The embedding is the hidden state, propagated.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        propagation: called as ``propagation(h, adjacency)``.
        hidden_channels: width of the hidden layer.
        dropout: share dropped of the features and of the hidden layer.
        bias: give biases to both linear maps.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        propagation: nn.Module,
        *,
        hidden_channels: int,
        dropout: float,
        bias: bool,
    ) -> None:
        super().__init__(in_channels, "node")
        self.dropout = dropout
        self.encoder = Encoder(in_channels, hidden_channels, bias=bias)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden_channels, out_channels, bias=bias))
        self.propagation = propagation

    def _hidden(self, x: Tensor) -> Tensor:
        return self.encoder(drop_features(x, self.dropout, self.training)).relu()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits ``[N, out_channels]``: here the head comes before the propagation."""
        self._check_input(x, batch, edge_attr, batch_size)
        return self.propagation(self.head(self._hidden(x)), normalised(edge_index, len(x), x.dtype))

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        return self.propagation(self._hidden(x), normalised(edge_index, len(x), x.dtype))
