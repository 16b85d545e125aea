"""Batch norm for batches of any size."""

from __future__ import annotations

from torch import nn
from torch_geometric.nn.norm import BatchNorm


def batch_norm(channels: int) -> nn.Module:
    """Batch norm that lets a batch of one row, or of none, pass with the running statistics."""
    norm: nn.Module = BatchNorm(channels, allow_single_element=True)
    return norm
