"""Senders and receivers: one kind of node, or two."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from mshgnn.errors import UserError


def channel_pair(in_channels: int | Sequence[int]) -> tuple[int, int]:
    """Widths of senders and receivers from one number or a pair; -1 stands for a width that is not known yet."""
    pair = (in_channels, in_channels) if isinstance(in_channels, int) else tuple(in_channels)
    if len(pair) != 2 or not all(isinstance(width, int) and (width == -1 or width > 0) for width in pair):
        raise UserError(
            f"in_channels must be a positive number, -1, or a pair (senders, receivers), got {in_channels!r}"
        )
    return pair[0], pair[1]


def feature_pair(x: object) -> tuple[Tensor, Tensor]:
    """Features of senders and receivers, the same tensor twice where there is only one."""
    if isinstance(x, Tensor):
        return x, x
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise UserError(f"x must be a tensor or a pair (x_sender, x_receiver), got {type(x).__name__}")
    return x[0], x[1]


def width_of(channels: int, features: object) -> int:
    """The width said, or for -1 that of the features."""
    if channels != -1:
        return channels
    if not isinstance(features, Tensor) or features.dim() != 2 or features.size(1) == 0:
        got = f"shape {list(features.shape)}" if isinstance(features, Tensor) else type(features).__name__
        raise UserError(f"x must be a tensor of two dimensions, whose width in_channels=-1 takes, got {got}")
    return features.size(1)
