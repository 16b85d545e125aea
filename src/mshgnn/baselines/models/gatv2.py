"""GATv2 (Brody et al., 2022): attention whose ranking of the neighbours depends on the receiver."""

from __future__ import annotations

from pydantic import PositiveInt
from torch import nn
from torch_geometric.nn import GATv2Conv

from mshgnn.baselines.base import Share, Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.models.gat import attention_message, attention_stack
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.baselines.stack import ConvStack


def gatv2_message(channels: int, *, heads: PositiveInt = 4) -> nn.Module:
    """The message alone, for the shared shell."""
    return attention_message(GATv2Conv, channels, heads)


def gatv2_own(
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    head_channels: PositiveInt = 8,
    heads: PositiveInt = 8,
    dropout: Share = 0.6,
) -> ConvStack:
    """GAT's two layers with GATv2's attention in them, as the paper compares the two."""
    return attention_stack(
        GATv2Conv,
        in_channels,
        out_channels,
        task=task,
        head_channels=head_channels,
        heads=heads,
        dropout=dropout,
    )


MODELS = {"gatv2": in_shared_shell(gatv2_message), "gatv2-own": ModelBuilder.of(gatv2_own)}
