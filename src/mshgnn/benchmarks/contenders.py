"""Who runs: our layer, its full generator, the layer as printed, and PyG's, all from 64 to 64 channels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch_geometric.nn import (
    FiLMConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    PNAConv,
    SAGEConv,
    TransformerConv,
)

from mshgnn.benchmarks.printed import PrintedMSHConv
from mshgnn.models.edge_mlp import EdgePerceptron
from mshgnn.nn import MSHConv

CHANNELS = 64
PROJECTIONS = 16
RANK = 2
OURS = "MSHConv"
FULL = "full generator"
PRINTED = "as printed"


def _gin() -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.ReLU(), nn.Linear(CHANNELS, CHANNELS)))


def _pna() -> nn.Module:
    scalers = ["identity", "amplification", "attenuation"]
    # The histogram of degrees sets constants alone.
    return PNAConv(CHANNELS, CHANNELS, ["mean", "min", "max", "std"], scalers, deg=torch.tensor([0, 1, 2, 1]))


# One attention head of full width for the attention layers: no split, no concatenation.
CONTENDERS: dict[str, Callable[[], nn.Module]] = {
    OURS: lambda: MSHConv(CHANNELS, CHANNELS, PROJECTIONS, rank=RANK),
    # Without the norm, whose two features more would slow its products down.
    FULL: lambda: MSHConv(CHANNELS, CHANNELS, PROJECTIONS, rank=None, normalize=False),
    PRINTED: lambda: PrintedMSHConv(CHANNELS, PROJECTIONS),
    "GCNConv": lambda: GCNConv(CHANNELS, CHANNELS),
    "GINConv": _gin,
    "SAGEConv": lambda: SAGEConv(CHANNELS, CHANNELS),
    "GATConv": lambda: GATConv(CHANNELS, CHANNELS),
    "GATv2Conv": lambda: GATv2Conv(CHANNELS, CHANNELS),
    "TransformerConv": lambda: TransformerConv(CHANNELS, CHANNELS),
    "FiLMConv": lambda: FiLMConv(CHANNELS, CHANNELS),
    "PNAConv": _pna,
    "edge perceptron": lambda: EdgePerceptron(CHANNELS),
}
