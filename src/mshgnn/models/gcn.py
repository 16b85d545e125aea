"""GCN: neighbours weighted by the inverse roots of both degrees."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GCNConv

from mshgnn.models.builder import around


def gcn_message(channels: int) -> nn.Module:
    """The convolution without a bias, for a batch norm follows it."""
    return GCNConv(channels, channels, bias=False)


MODELS = {"gcn": around("GCN", "Kipf and Welling, 2017", gcn_message)}
