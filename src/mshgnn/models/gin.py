"""GIN: the plain sum of the neighbours, as strong as the 1-WL test."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn import GINConv

from mshgnn.models.builder import around


def gin_message(channels: int) -> nn.Module:
    """A linear map of the sum; the perceptron is the update's."""
    return GINConv(nn.Linear(channels, channels, bias=False))


MODELS = {"gin": around("GIN", "Xu et al., 2019", gin_message)}
