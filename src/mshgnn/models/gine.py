"""GINE: the sum over neighbours and the edges they come by (Hu et al., 2020)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import GINEConv

from mshgnn.models.builder import around
from mshgnn.nn.options import Width


class GINEMessage(nn.Module):
    r""":math:`W (h_v + \sum_u \mathrm{relu}(h_u + W_e e_{vu} + b_e))`; without edge features of :math:`h_u`."""

    def __init__(self, channels: int, *, edge_dim: Width | None = None) -> None:
        super().__init__()
        self.channels = channels
        self.conv = GINEConv(nn.Linear(channels, channels, bias=False), edge_dim=edge_dim)

    def forward(self, h: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """The messages ``[N, channels]``."""
        return self.conv(h, edge_index, h.new_zeros(1, self.channels) if edge_attr is None else edge_attr)


MODELS = {"gine": around("GINE", "Hu et al., 2020", "PyG's `GINEConv` as a message", GINEMessage)}
