"""GraphSAGE (Hamilton et al., 2017): the mean of the neighbours beside the node itself."""

from __future__ import annotations

from itertools import pairwise

from pydantic import PositiveInt
from torch import nn
from torch.nn.functional import relu
from torch_geometric.nn import SAGEConv

from mshgnn.baselines.base import Share, Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.baselines.stack import ConvStack


def sage_message(channels: int) -> nn.Module:
    """The message alone, for the shared shell, which has the node's own term already."""
    conv: nn.Module = SAGEConv(channels, channels, root_weight=False, bias=False)
    return conv


def sage_own(
    in_channels: int,
    out_channels: int,
    *,
    task: Task,
    hidden_channels: PositiveInt = 256,
    num_layers: PositiveInt = 2,
    dropout: Share = 0.0,
) -> ConvStack:
    """Two layers of width 256, mean aggregation, states scaled to length one, a linear head."""
    widths = [in_channels, *[hidden_channels] * num_layers]
    return ConvStack(
        [SAGEConv(before, after, normalize=True) for before, after in pairwise(widths)],
        nn.Linear(hidden_channels, out_channels),
        pooled=task == "graph",
        activation=relu,
        dropout=dropout,
        sparse_input=False,
    )


MODELS = {"sage": in_shared_shell(sage_message), "sage-own": ModelBuilder.of(sage_own)}
