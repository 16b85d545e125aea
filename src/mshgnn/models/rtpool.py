r"""RTPool: atoms are pooled to pairs and triples by the rhomboid tiling of their places (Zhang, Li & Xia, 2025).

.. math::
    H = \mathrm{GCN}(X), \qquad H \leftarrow \mathrm{ReLU}(\mathrm{GIN}_j(M_j H)), \; j = 1, \dots, J, \qquad
    g = H^\top (H w)

:math:`M_j` and the graph between sets of points are those of :mod:`mshgnn.structure.rhomboids`. The convolutions are
PyG's, the rest is ours, without CGAL.

**The first three features of a node are its place in space**, as PyG gives them for BZR and COX2 with
``use_node_attr=True``; the network sees the others alone, or a constant if there is none. The method is undefined on
sets without places: whatever the first three features are, it would take them for places. All widths of the authors
are the number of features, here ``hidden_channels``. The authors rebuild the molecules of MUTAG and PTC and embed them
in space; that is for the data, not the model. Like theirs, dropout falls on the logits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv
from torch_geometric.utils import scatter

from mshgnn.errors import UserError
from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.model import Graphs
from mshgnn.nn.options import Between, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.nn.structured import StructuredModel
from mshgnn.structure import owners
from mshgnn.structure.rhomboids import DIMENSIONS, rhomboid_clusters

Pools = Annotated[int, Between(1, 2)]


class RTPool(StructuredModel):
    """A graph convolution, pools to pairs and triples with GIN between them, a second-order readout, a linear head.

    Args:
        in_channels: width of the node features, the three of the place included.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of all layers.
        num_layers: pools ``J``, 1 (pairs) or 2 (triples).
        dropout: share of the logits dropped.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 32,
        num_layers: Pools = 1,
        dropout: Share = 0.5,
    ) -> None:
        if in_channels < DIMENSIONS:
            raise UserError(f"in_channels must be at least {DIMENSIONS}, the place of a node, got {in_channels}")
        super().__init__(in_channels, task, (rhomboid_clusters(num_layers),))
        d = hidden_channels
        self.first = GCNConv(max(1, in_channels - DIMENSIONS), d)
        self.convs = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))) for _ in range(num_layers)
        )
        self.attention = nn.Parameter(torch.randn(d))
        self.head = nn.Sequential(nn.Linear(d, out_channels), nn.Dropout(dropout))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        nn.init.normal_(self.attention)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        features = as_dense(x)[:, DIMENSIONS:]
        h = self.first(features if features.size(1) else features.new_ones(len(features), 1), edge_index)
        for order, conv in enumerate(self.convs, 1):
            sent = structure[f"pool{order}_weight"].to(h.dtype)[:, None] * h[structure[f"pool{order}_from"]]
            cells = len(structure[f"cells{order}_points"])
            pooled = scatter(sent, structure[f"pool{order}_to"], dim_size=cells, reduce="sum")
            h = conv(pooled, structure[f"link{order}_ends"].t()).relu()
        owner = owners(structure[f"cells{len(self.convs)}_ptr"])
        return pool_nodes(h * (h @ self.attention)[:, None], owner, graphs[1], "sum")


MODELS = {
    "rtpool": ModelBuilder(
        "RTPool",
        "Zhang et al., 2025",
        "PyG's convolutions, the tiling ours without CGAL; the first three features are the place",
        RTPool,
        options_of(RTPool),
        tasks=("graph",),
    )
}
