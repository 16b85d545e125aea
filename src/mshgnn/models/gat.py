"""GAT: neighbours weighted by attention."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GATConv

from mshgnn.errors import UserError
from mshgnn.models.builder import around
from mshgnn.nn.options import Width


def head_width(channels: int, heads: int) -> int:
    """The width of one head: heads share the width, so that attention is as wide as any other message."""
    if channels % heads:
        raise UserError(f"heads must divide hidden_channels, but {channels} is no multiple of {heads}")
    return channels // heads


def gat_message(channels: int, *, heads: Width = 4) -> nn.Module:
    """Attention that ranks the senders alike for all receivers."""
    return GATConv(channels, head_width(channels, heads), heads=heads, bias=False)


MODELS = {"gat": around("GAT", "Veličković et al., 2018", gat_message)}
