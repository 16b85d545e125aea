r"""GSN: GIN that knows in how many cycles or cliques each edge or node lies (Bouritsas et al., 2020).

.. math::
    x'_v = \mathrm{MLP}\Big((1 + \epsilon) x_v \,\|\, 0 + \sum_{u \in N(v)} x_u \,\|\, s_{uv}\Big) \qquad
    x'_v = \mathrm{MLP}\Big((1 + \epsilon) [x_v \| s_v] + \sum_{u \in N(v)} [x_u \| s_u]\Big)

on edges (GSN-e) or nodes (GSN-v), with :math:`\epsilon = 0`. ``s`` holds the counts of
:mod:`mshgnn.structure.substructures` in one-hot form. Counts enter the first layer alone; the others are GIN, each
followed by batch norm and ReLU. A linear map reads the pooled states of all layers, the features included.

``GINConv`` is PyG's, the counts are found by networkx, the rest is ours. The linear map of a one-hot vector is a
row of a table, so no one-hot vector is made. The authors' "gin" layer is this one; their "general" layer is left out.
Different from the release: there the one-hot places are the values that occur in the whole data set, test graphs
included. Here counts up to 16 have a place each and larger ones share it with those within a fifth, so that nothing
is looked up. The mark that the release gives a node's own message is a bias, which the map has. Dropout acts on pooled
states, there on the logits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv
from torch_geometric.utils import scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.nn.structured import StructuredModel
from mshgnn.structure.substructures import SMALLEST, Family, Holder, substructure_counts

EXACT, STEPS, OCTAVES = 16, 4, 20
PLACES = EXACT + STEPS * OCTAVES + 1


def places(count: Tensor) -> Tensor:
    """The one-hot place of every count: itself up to 16, then four places for every factor of two."""
    above = EXACT + (STEPS * torch.log2(count.clamp(min=1).double() / EXACT)).ceil().long()
    return torch.where(count <= EXACT, count, above).clamp(max=PLACES - 1)


class SubstructureConv(nn.Module):
    """The first layer: ``[N, in]`` and counts to ``[N, out]``."""

    def __init__(self, in_channels: int, out_channels: int, sizes: int, holder: Holder) -> None:
        super().__init__()
        self.holder = holder
        self.message = GINConv(nn.Linear(in_channels, out_channels))
        self.table = nn.Embedding(sizes * PLACES, out_channels)
        self.register_buffer("first", PLACES * torch.arange(sizes), persistent=False)
        self.neighbours = GINConv(nn.Identity())
        self.update = nn.Sequential(batch_norm(out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))

    def forward(self, x: Tensor, edge_index: Tensor, count: Tensor) -> Tensor:
        """``count [rows, sizes]`` has one row per edge, or per node."""
        assert isinstance(self.first, Tensor)
        known: Tensor = self.table(places(count) + self.first).sum(dim=1)
        if self.holder == "edge":
            heard = scatter(known, edge_index[1], dim_size=x.size(0), reduce="sum")
        else:
            heard = self.neighbours(known, edge_index)
        updated: Tensor = self.update(self.message(x, edge_index) + heard)
        return updated


class GSN(StructuredModel):
    """The layer with counts, GIN layers, the pooled states of all of them side by side, a linear head.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the states.
        num_layers: number of layers, the one with counts among them.
        substructures: ``"cycles"``, ``"induced-cycles"`` or ``"cliques"``.
        largest: nodes of the largest one counted; the smallest has three.
        holder: whether counts are of an ``"edge"`` (GSN-e) or a ``"node"`` (GSN-v).
        readout: how states are pooled.
        dropout: share dropped before the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 64,
        num_layers: Depth = 4,
        substructures: Family = "cycles",
        largest: Annotated[int, Between(3, 20)] = 6,
        holder: Holder = "edge",
        readout: Literal["sum", "mean"] = "sum",
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, (substructure_counts(substructures, largest, holder),))
        d, self.readout = hidden_channels, readout
        self.first = SubstructureConv(in_channels, d, largest - SMALLEST + 1, holder)
        self.convs = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(d, d), batch_norm(d), nn.ReLU(), nn.Linear(d, d)))
            for _ in range(num_layers - 1)
        )
        self.norms = nn.ModuleList(batch_norm(d) for _ in range(num_layers))
        self.head = make_head(in_channels + num_layers * d, d, out_channels, 1, dropout)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        h = as_dense(x)
        pooled = [pool_nodes(h, *graphs, self.readout)]
        for layer, norm in enumerate(self.norms):
            h = self.convs[layer - 1](h, edge_index) if layer else self.first(h, edge_index, structure["count"])
            h = norm(h).relu()
            pooled.append(pool_nodes(h, *graphs, self.readout))
        return torch.cat(pooled, dim=-1)


MODELS = {
    "gsn": ModelBuilder(
        "GSN",
        "Bouritsas et al., 2020",
        "PyG's `GINConv`, copies by networkx; counts above 16 share places, theirs have one for every value",
        GSN,
        options_of(GSN),
        tasks=("graph",),
    )
}
