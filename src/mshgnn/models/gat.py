r"""GAT: neighbours weighted by attention (Veličković et al., 2018).

.. math::
    m_v = \sum_{u \in N(v) \cup \{v\}} \alpha_{vu} W h_u, \qquad
    \alpha_{vu} = \operatorname{softmax}_u \mathrm{LeakyReLU}(a \cdot W h_v + b \cdot W h_u)

per head. PyG's ``GATConv``; what is around it is the shell of all messages. No weight of attention is dropped.
"""

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


MODELS = {"gat": around("GAT", "Veličković et al., 2018", "PyG's `GATConv` as a message", gat_message)}
