"""The paper's GCN and GAT of the joint structure-frequency task, identified by their parameter counts.

Two convolutions ``1 -> 64 -> 64`` with ReLU, the mean over nodes, ``Linear 64 -> 30``: 6,238 parameters (GCN)
and 6,494 (GAT, one head).
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn
from torch.nn.functional import relu
from torch_geometric.nn import GATConv, GCNConv

from mshgnn.baselines.base import Task
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.stack import ConvStack

WIDTH = 64


def joint_gcn(in_channels: int, out_channels: int, *, task: Task) -> ConvStack:
    """6,238 parameters on the joint task."""
    return _joint(GCNConv, in_channels, out_channels, task)


def joint_gat(in_channels: int, out_channels: int, *, task: Task) -> ConvStack:
    """6,494 parameters on the joint task."""
    return _joint(GATConv, in_channels, out_channels, task)


def _joint(conv: Callable[..., nn.Module], in_channels: int, out_channels: int, task: Task) -> ConvStack:
    return ConvStack(
        [conv(in_channels, WIDTH), conv(WIDTH, WIDTH)],
        nn.Linear(WIDTH, out_channels),
        pooled=task == "graph",
        activation=relu,
        dropout=0.0,
    )


MODELS = {"joint-gcn": ModelBuilder.of(joint_gcn), "joint-gat": ModelBuilder.of(joint_gat)}
