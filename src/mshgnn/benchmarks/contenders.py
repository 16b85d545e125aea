"""Who runs: our layer, the layer as printed, and PyG's, all from 64 to 64 channels."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn
from torch_geometric.nn import FiLMConv, GATConv, GATv2Conv, GCNConv, GINConv, TransformerConv

from mshgnn.benchmarks.printed import PrintedMSHConv
from mshgnn.nn import MSHConv

CHANNELS = 64
PROJECTIONS = 16
OURS = "MSHConv"
PRINTED = "as printed"


def _gin() -> nn.Module:
    layer: nn.Module = GINConv(nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.ReLU(), nn.Linear(CHANNELS, CHANNELS)))
    return layer


# One attention head of full width for the attention layers: no split, no concatenation.
CONTENDERS: dict[str, Callable[[], nn.Module]] = {
    OURS: lambda: MSHConv(CHANNELS, CHANNELS, num_projections=PROJECTIONS),
    PRINTED: lambda: PrintedMSHConv(CHANNELS, PROJECTIONS),
    "GCNConv": lambda: GCNConv(CHANNELS, CHANNELS),
    "GINConv": _gin,
    "GATConv": lambda: GATConv(CHANNELS, CHANNELS),
    "GATv2Conv": lambda: GATv2Conv(CHANNELS, CHANNELS),
    "FiLMConv": lambda: FiLMConv(CHANNELS, CHANNELS),
    "TransformerConv": lambda: TransformerConv(CHANNELS, CHANNELS),
}
