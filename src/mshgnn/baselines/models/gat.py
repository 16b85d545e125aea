"""GAT (Veličković et al., 2018): neighbours weighted by attention."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import PositiveInt
from torch import nn
from torch.nn.functional import elu
from torch_geometric.nn import GATConv

from mshgnn.baselines.base import Share, Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.baselines.stack import ConvStack
from mshgnn.errors import UserError


def attention_message(conv: Callable[..., nn.Module], channels: int, heads: int) -> nn.Module:
    """An attention layer whose heads share the width, so that it is as wide as any other message."""
    if channels % heads:
        raise UserError(f"heads must divide hidden_channels, but {channels} is no multiple of {heads}")
    return conv(channels, channels // heads, heads=heads, bias=False)


def attention_stack(
    conv: Callable[..., nn.Module],
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    head_channels: int,
    heads: int,
    dropout: float,
) -> ConvStack:
    """Two attention layers with ELU; the second gives the logits of nodes."""
    graph, width = task == "graph", head_channels * heads
    first = conv(in_channels, head_channels, heads=heads, dropout=dropout)
    second_width, second_heads = (head_channels, heads) if graph else (out_channels, 1)
    return ConvStack(
        [first, conv(width, second_width, heads=second_heads, dropout=dropout)],
        nn.Linear(width, out_channels) if graph else None,
        pooled=graph,
        activation=elu,
        dropout=dropout,
    )


def gat_message(channels: int, *, heads: PositiveInt = 4) -> nn.Module:
    """The message alone, for the shared shell."""
    return attention_message(GATConv, channels, heads)


def gat_own(
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    head_channels: PositiveInt = 8,
    heads: PositiveInt = 8,
    dropout: Share = 0.6,
) -> ConvStack:
    """Two layers of eight heads of width eight, dropout 0.6 on features and attention."""
    return attention_stack(
        GATConv,
        in_channels,
        out_channels,
        task=task,
        head_channels=head_channels,
        heads=heads,
        dropout=dropout,
    )


MODELS = {"gat": in_shared_shell(gat_message), "gat-own": ModelBuilder.of(gat_own)}
