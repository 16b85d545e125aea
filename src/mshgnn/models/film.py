r"""GNN-FiLM: the receiver scales and shifts what its neighbours send (Brockschmidt, 2020).

.. math::
    m_v = \mathrm{ReLU}(\gamma^0_v \odot W_0 h_v + \beta^0_v)
    + \frac{1}{d_v} \sum_{u \in N(v)} \mathrm{ReLU}(\gamma_v \odot W h_u + \beta_v), \qquad
    [\beta_v \| \gamma_v] = g(h_v)

with linear ``g``, one for the loop and one for the neighbours. PyG's ``FiLMConv``, which has a mean where the paper has
a sum; what is around it is the shell of all messages.
"""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import FiLMConv

from mshgnn.models.builder import around


def film_message(channels: int) -> nn.Module:
    """The modulated self term is part of the message, as in the paper."""
    return FiLMConv(channels, channels)


MODELS = {
    "film": around(
        "FiLM",
        "Brockschmidt, 2020",
        "PyG's `FiLMConv` as a message, with a mean over neighbours where the paper has a sum",
        film_message,
    )
}
