"""GNN-FiLM (Brockschmidt, 2020): the receiver scales and shifts what its neighbours send."""

from __future__ import annotations

from itertools import pairwise

from pydantic import PositiveInt
from torch import Tensor, nn
from torch_geometric.nn import FiLMConv

from mshgnn.baselines.base import Share, Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.baselines.stack import ConvStack


def film_message(channels: int) -> nn.Module:
    """The message alone, for the shared shell; the modulated self term is part of it, as in the paper."""
    conv: nn.Module = FiLMConv(channels, channels)
    return conv


def film_own(
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    hidden_channels: PositiveInt = 320,
    num_layers: PositiveInt = 4,
    dropout: Share = 0.1,
) -> ConvStack:
    """Four layers of width 320, layer norm after each, a linear head: the size used on protein interactions."""
    widths = [in_channels, *[hidden_channels] * num_layers]
    return ConvStack(
        [FiLMConv(before, after) for before, after in pairwise(widths)],
        nn.Linear(hidden_channels, out_channels),
        pooled=task == "graph",
        activation=_inside_the_convolution,
        dropout=dropout,
        norms=[nn.LayerNorm(hidden_channels) for _ in range(num_layers)],
    )


def _inside_the_convolution(h: Tensor) -> Tensor:
    """FiLM applies its ReLU to every message before the sum."""
    return h


MODELS = {"film": in_shared_shell(film_message), "film-own": ModelBuilder.of(film_own)}
