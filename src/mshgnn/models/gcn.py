r"""GCN: neighbours weighted by the inverse roots of both degrees (Kipf and Welling, 2017).

.. math::
    m_v = \sum_{u \in N(v) \cup \{v\}} \frac{W h_u}{\sqrt{\tilde d_v \tilde d_u}}, \qquad \tilde d = d + 1

PyG's ``GCNConv``; what is around it is the shell of all messages, not the authors' two layers.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GCNConv

from mshgnn.models.builder import around


def gcn_message(channels: int) -> nn.Module:
    """The convolution without a bias, for a batch norm follows it."""
    return GCNConv(channels, channels, bias=False)


MODELS = {"gcn": around("GCN", "Kipf and Welling, 2017", "PyG's `GCNConv` as a message", gcn_message)}
