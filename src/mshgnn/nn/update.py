"""What becomes of a message: the node states that the next layer sees."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from mshgnn.nn.norm import batch_norm

UpdateName = Literal["residual", "mlp", "concat"]


class Update(nn.Module):
    """From the states ``h [N, in]`` and the messages ``m`` to the next states ``[N, d]``.

    ``in`` is ``d`` but for the first layer of a model without an encoder.
    """

    changes_width: ClassVar[bool] = False
    """Whether ``in`` may differ from ``d``."""

    root: nn.Linear | None
    """``W_r`` of an own term ``W_r h_v``, which the layer adds to the message."""

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__()
        self.root = None

    @staticmethod
    def message_channels(in_channels: int, channels: int) -> int:
        """How wide the messages are."""
        return channels

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        raise NotImplementedError


class ResidualUpdate(Update):
    r""":math:`h_v + \mathrm{MLP}(\mathrm{relu}(\mathrm{BN}(W_r h_v + m_v)))`.

    :math:`W_r` lets a node without senders keep its own state. It has no bias, which the batch norm would take away.
    """

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__(in_channels, channels, dropout)
        self.root = nn.Linear(channels, channels, bias=False)
        self.norm = batch_norm(channels)
        self.mlp = _perceptron(channels, channels, dropout)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``; the own term is in ``m`` already."""
        return h + self.mlp(self.norm(m).relu())


class MLPUpdate(Update):
    r""":math:`\mathrm{MLP}(h_v + m_v)`, as the paper prints it: the messages are as wide as the states."""

    changes_width = True

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__(in_channels, channels, dropout)
        self.mlp = _perceptron(in_channels, channels, dropout)

    @staticmethod
    def message_channels(in_channels: int, channels: int) -> int:
        """As wide as what they are added to."""
        return in_channels

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        return self.mlp(h + m)


class ConcatUpdate(Update):
    r""":math:`\mathrm{relu}(\mathrm{BN}(\mathrm{MLP}([h_v \| m_v + b])))` and a dropout, as the authors' code has it.

    :math:`b` is the bias of their :math:`W_o`: a mean over senders lets it pass, and with loops no node has none.
    """

    changes_width = True

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__(in_channels, channels, dropout)
        self.norm = batch_norm(channels)
        self.mlp = _perceptron(in_channels + channels, channels, 0.0)
        self.bias = nn.Parameter(torch.empty(channels))
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew; the bias starts at zero, for the MLP's first one does the same work."""
        reset(self.norm)
        reset(self.mlp)
        nn.init.zeros_(self.bias)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states ``[N, d]``."""
        return self.dropout(self.norm(self.mlp(torch.cat([h, m + self.bias], dim=-1))).relu())


UPDATES: dict[UpdateName, type[Update]] = {"residual": ResidualUpdate, "mlp": MLPUpdate, "concat": ConcatUpdate}


def _perceptron(in_channels: int, channels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, channels), nn.ReLU(), nn.Dropout(dropout), nn.Linear(channels, channels)
    )
