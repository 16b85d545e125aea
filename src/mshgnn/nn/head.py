"""From an embedding to logits."""

from __future__ import annotations

from torch import nn


def make_head(
    in_channels: int,
    hidden_channels: int,
    out_channels: int,
    num_layers: int,
    dropout: float,
    *,
    drop_input: bool = True,
) -> nn.Module:
    r"""``num_layers`` linear maps, each of :math:`\mathrm{dropout}(\cdot)`, with ReLU between them.

    Without ``drop_input`` the first takes its input as it is.

    One map can only add up what a sum over nodes counted. Two can compare the counts, which tells graphs apart by
    shares, whatever their size.
    """
    layers: list[nn.Module] = []
    for _ in range(num_layers - 1):
        layers += [nn.Dropout(dropout), nn.Linear(in_channels, hidden_channels), nn.ReLU()]
        in_channels = hidden_channels
    layers += [nn.Dropout(dropout), nn.Linear(in_channels, out_channels)]
    return nn.Sequential(*(layers if drop_input else layers[1:]))


def halving_head(in_channels: int, out_channels: int) -> nn.Module:
    """Three linear maps with ReLU between them; the first two halve the width."""
    half, quarter = max(in_channels // 2, 1), max(in_channels // 4, 1)
    return nn.Sequential(
        nn.Linear(in_channels, half), nn.ReLU(), nn.Linear(half, quarter), nn.ReLU(), nn.Linear(quarter, out_channels)
    )
