r"""GATv2: attention whose ranking of the neighbours depends on the receiver (Brody et al., 2022).

.. math::
    m_v = \sum_{u \in N(v) \cup \{v\}} \alpha_{vu} W h_u, \qquad
    \alpha_{vu} = \operatorname{softmax}_u \; a \cdot \mathrm{LeakyReLU}(W h_u + W' h_v + W_e e_{vu})

per head. PyG's ``GATv2Conv``; what is around it is the shell of all messages. No weight of attention is dropped.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GATv2Conv

from mshgnn.models.builder import around
from mshgnn.models.gat import head_width
from mshgnn.nn.options import Width


def gatv2_message(channels: int, *, heads: Width = 4, edge_dim: Width | None = None) -> nn.Module:
    """Edge features enter the attention; a loop, which every node gets, has the mean of its node's edges."""
    return GATv2Conv(channels, head_width(channels, heads), heads=heads, bias=False, edge_dim=edge_dim)


MODELS = {"gatv2": around("GATv2", "Brody et al., 2022", "PyG's `GATv2Conv` as a message", gatv2_message)}
