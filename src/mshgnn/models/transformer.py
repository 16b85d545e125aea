r"""Graph transformer: attention by keys and queries, over the neighbours (Shi et al., 2021).

.. math::
    m_v = \sum_{u \in N(v)} \alpha_{vu} (W_v h_u + W_e e_{vu}), \qquad
    \alpha_{vu} = \operatorname{softmax}_u \frac{W_q h_v \cdot (W_k h_u + W_e e_{vu})}{\sqrt{d_h}}

per head. PyG's ``TransformerConv``; what is around it is the shell of all messages. Of the authors' UniMP its gate
between message and state, its layer norms and the labels it takes as input are left out.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import TransformerConv

from mshgnn.models.builder import around
from mshgnn.models.gat import head_width
from mshgnn.nn.options import Width


def transformer_message(channels: int, *, heads: Width = 4, edge_dim: Width | None = None) -> nn.Module:
    """Edge features are added to keys and values; the node's own term is the update's."""
    width = head_width(channels, heads)
    conv = TransformerConv(channels, width, heads=heads, bias=False, root_weight=False, edge_dim=edge_dim)
    conv.lin_skip = _Nothing()
    return conv


class _Nothing(nn.Module):
    """Instead of the map for a node's own term, which PyG makes even where ``root_weight=False`` leaves it unused."""

    def reset_parameters(self) -> None:
        """There is nothing to draw."""


MODELS = {
    "transformer": around(
        "Graph transformer",
        "Shi et al., 2021",
        "PyG's `TransformerConv` as a message, without UniMP's gate and labels as input",
        transformer_message,
    )
}
