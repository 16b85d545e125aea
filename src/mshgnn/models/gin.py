r"""GIN: the plain sum of the neighbours, as strong as the 1-WL test (Xu et al., 2019).

.. math::
    m_v = W \Big(h_v + \sum_{u \in N(v)} h_u\Big)

PyG's ``GINConv`` with :math:`\epsilon = 0`. The authors have a perceptron after the sum: here it is the update of the
shell of all messages, which also has a residual.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GINConv

from mshgnn.models.builder import around


def gin_message(channels: int) -> nn.Module:
    """A linear map of the sum; the perceptron is the update's."""
    return GINConv(nn.Linear(channels, channels, bias=False))


MODELS = {
    "gin": around(
        "GIN",
        "Xu et al., 2019",
        "PyG's `GINConv` as a message: the perceptron after the sum is the shell's update",
        gin_message,
    )
}
