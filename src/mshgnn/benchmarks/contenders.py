"""Who runs: our layer, its parts alone, its full generator, and PyG's layers, from 64 to 64 channels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
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

from mshgnn.models.edge_mlp import EdgePerceptron
from mshgnn.nn import MSHConv
from mshgnn.nn.edges import as_graph
from mshgnn.ops import Factored, Inputs, harmonic_aggregate

CHANNELS = 64
PROJECTIONS = 16
RANK = 2
FREQUENCIES = (1.0, 2.0, 4.0)
OURS = "MSHConv"
FULL = "full generator"
PRODUCTS = "its products alone"
KERNELS = "its kernels alone"
PARTS = (PRODUCTS, KERNELS)
"""Of our layer: timed, to see what bounds it, but no layers themselves."""


def _gin() -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.ReLU(), nn.Linear(CHANNELS, CHANNELS)))


def _pna() -> nn.Module:
    scalers = ["identity", "amplification", "attenuation"]
    # The histogram of degrees sets constants alone.
    return PNAConv(CHANNELS, CHANNELS, ["mean", "min", "max", "std"], scalers, deg=torch.tensor([0, 1, 2, 1]))


class _Products(nn.Module):
    """What our layer multiplies per node, and nothing else: no edge, no norm. Faster than this it cannot be."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.Linear(CHANNELS, 2 * (RANK + 1) * PROJECTIONS)
        self.output = nn.Linear(2 * len(FREQUENCIES) * PROJECTIONS, CHANNELS, bias=False)
        self.root = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.output(self.tables(x)) + self.root(x)
        return out


class _Kernels(nn.Module):
    """The sum over edges alone, on tables that are the features themselves."""

    frequencies: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.tensor(FREQUENCIES))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        tables = torch.cat([x, x[:, : 2 * (RANK + 1) * PROJECTIONS - CHANNELS]], dim=1)
        phases = Factored(tables, None, PROJECTIONS)
        return harmonic_aggregate(Inputs(phases, as_graph(edge_index, len(x), len(x)), self.frequencies))[0]


# One attention head of full width for the attention layers: no split, no concatenation.
CONTENDERS: dict[str, Callable[[], nn.Module]] = {
    OURS: lambda: MSHConv(CHANNELS, CHANNELS, PROJECTIONS, rank=RANK),
    PRODUCTS: _Products,
    KERNELS: _Kernels,
    # Without the norm, whose two features more would slow its products down.
    FULL: lambda: MSHConv(CHANNELS, CHANNELS, PROJECTIONS, rank=None, normalize=False),
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
