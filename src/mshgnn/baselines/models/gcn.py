"""GCN (Kipf and Welling, 2017): neighbours weighted by the inverse roots of both degrees."""

from __future__ import annotations

from itertools import pairwise

from pydantic import PositiveInt
from torch import nn
from torch.nn.functional import relu
from torch_geometric.nn import GCNConv

from mshgnn.baselines.base import Share, Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.baselines.stack import ConvStack


def gcn_message(channels: int) -> nn.Module:
    """The message alone, for the shared shell."""
    conv: nn.Module = GCNConv(channels, channels, bias=False)
    return conv


def gcn_own(
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    hidden_channels: PositiveInt = 64,
    num_layers: PositiveInt = 2,
    dropout: Share = 0.5,
) -> ConvStack:
    """Two convolutions; on nodes the second one gives the logits, on graphs a linear head after the mean."""
    graph = task == "graph"
    widths = [in_channels, *[hidden_channels] * (num_layers - 1), hidden_channels if graph else out_channels]
    return ConvStack(
        [GCNConv(before, after) for before, after in pairwise(widths)],
        nn.Linear(hidden_channels, out_channels) if graph else None,
        pooled=graph,
        activation=relu,
        dropout=dropout,
    )


MODELS = {"gcn": in_shared_shell(gcn_message), "gcn-own": ModelBuilder.of(gcn_own)}
