"""GNN-FiLM: the receiver scales and shifts what its neighbours send."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import FiLMConv

from mshgnn.models.builder import around


def film_message(channels: int) -> nn.Module:
    """The modulated self term is part of the message, as in the paper."""
    return FiLMConv(channels, channels)


MODELS = {"film": around("FiLM", "Brockschmidt, 2020", film_message)}
