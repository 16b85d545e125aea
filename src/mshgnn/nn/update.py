"""What becomes of a message: the node states that the next layer sees."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from mshgnn.nn.norm import batch_norm

UpdateName = Literal["residual", "mlp", "concat"]


class Update(nn.Module):
    """From the states ``h [N, d]`` and the messages ``m [N, d]`` to the next states ``[N, d]``."""

    root: nn.Linear | None
    """``W_r`` of an own term ``W_r h_v``, which the layer adds to the message."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.root = None

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        raise NotImplementedError


class ResidualUpdate(Update):
    r""":math:`h_v + \mathrm{MLP}(\mathrm{relu}(\mathrm{BN}(W_r h_v + m_v)))`.

    :math:`W_r` lets a node without senders keep its own state. It has no bias, which the batch norm would take away.
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__(channels, dropout)
        self.root = nn.Linear(channels, channels, bias=False)
        self.norm = batch_norm(channels)
        self.mlp = _perceptron(channels, channels, dropout)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``; the own term is in ``m`` already."""
        return h + self.mlp(self.norm(m).relu())


class MLPUpdate(Update):
    r""":math:`\mathrm{MLP}(h_v + m_v)`, as the paper prints it."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__(channels, dropout)
        self.mlp = _perceptron(channels, channels, dropout)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        return self.mlp(h + m)


class ConcatUpdate(Update):
    r""":math:`\mathrm{relu}(\mathrm{BN}(\mathrm{MLP}([h_v \| m_v])))`, as the authors' code has it."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__(channels, dropout)
        self.norm = batch_norm(channels)
        self.mlp = _perceptron(2 * channels, channels, dropout)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        return self.norm(self.mlp(torch.cat([h, m], dim=-1))).relu()


UPDATES: dict[UpdateName, type[Update]] = {"residual": ResidualUpdate, "mlp": MLPUpdate, "concat": ConcatUpdate}


def _perceptron(in_channels: int, channels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, channels), nn.ReLU(), nn.Dropout(dropout), nn.Linear(channels, channels)
    )
