r"""SEP: pooling along a coding tree of small structural entropy (Wu et al., 2022).

.. math::
    H_l = \mathrm{ReLU}(\mathrm{GCN}_l(X_{l-1}, A_{l-1})), \qquad X_l = S_l^\top H_l, \qquad
    z = [\textstyle\sum H_1 \| \sum H_2 \| \sum H_3]

:math:`X_0, A_0` are the graph. :math:`S_l` adds up the rows of the groups of level ``l`` of the tree
(:mod:`mshgnn.structure.coding_tree`), :math:`A_l` joins groups between which there is an edge. The sums run over all
rows of a graph; a head of three maps reads them.

``GCNConv`` is PyG's, tree and stack are ours. The release puts a ReLU after pooling, which changes nothing, and keeps
a perceptron for it that is never called: both are left out. ``features`` also hands the sum of the input features to
the head, as the authors do on the social data sets. They give every node a one-hot degree besides its label; here the
data set decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs
from mshgnn.nn.options import Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.nn.structured import StructuredModel
from mshgnn.structure import owners
from mshgnn.structure.coding_tree import coding_tree

LEVELS = 3


class SEP(StructuredModel):
    """Three convolutions with two poolings between them, and a head of three maps.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the convolutions.
        features: whether the head also sees the sum of the input features.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 128,
        features: bool = False,
        dropout: Share = 0.5,
    ) -> None:
        super().__init__(in_channels, task, (coding_tree(),))
        d, self.features = hidden_channels, features
        self.convs = nn.ModuleList(GCNConv(d if level else in_channels, d) for level in range(LEVELS))
        self.head = nn.Sequential(
            nn.Linear(LEVELS * d + (in_channels if features else 0), d),
            nn.ReLU(),
            make_head(d, math.ceil(d / 2), out_channels, 2, dropout),
        )

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        batch, batch_size = graphs
        h = as_dense(x)
        sums = [pool_nodes(h, batch, batch_size, "sum")] if self.features else []
        owner = [batch, *(owners(structure[f"group{level}_ptr"]) for level in (1, 2))]
        edges = [edge_index, *(structure[f"quotient{level}"].t() for level in (1, 2))]
        for level, conv in enumerate(self.convs):
            h = conv(h, edges[level]).relu()
            sums.append(pool_nodes(h, owner[level], batch_size, "sum"))
            if level < LEVELS - 1:
                h = scatter(h, structure[f"parent{level + 1}"], dim_size=len(owner[level + 1]), reduce="sum")
        return torch.cat(sums, dim=-1)


MODELS = {
    "sep": ModelBuilder(
        "SEP",
        "Wu et al., 2022",
        "PyG's `GCNConv`, the tree ours; no degree feature but the data set's",
        SEP,
        options_of(SEP),
        tasks=("graph",),
    )
}
