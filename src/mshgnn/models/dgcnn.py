r"""DGCNN: nodes sorted by their last state become a sequence for 1-D convolutions (Zhang et al., 2018).

.. math::
    Z_0 = X, \qquad Z_t = \tanh(\tilde D^{-1} \tilde A Z_{t-1} W_t), \quad \tilde A = A + I, \qquad
    Z = [Z_1 \| \dots \| Z_L] \in \mathbb{R}^{n \times D}

The last :math:`Z_L` has one channel. The ``k`` nodes with the largest one, in that order and with rows of zeros where
there are fewer, are convolved: 16 filters over one node each, ReLU, the maximum of every two, 32 filters over five
places, ReLU; then a linear map to 128, ReLU, dropout, and the classes.

The mean over the closed neighbourhood is PyG's ``SAGEConv`` without root weight on edges with a loop at every node, the
sort PyG's ``SortAggregation``; the stack is ours. Like both released codes, and unlike the paper, ties in the last
channel are not broken by earlier ones. Like the paper's Torch7 code, and unlike its PyTorch port, the convolution has
no bias. ``k``, there a quantile of the sizes in the whole data set, is that of the training graphs, or an option; the
authors' 0.9 for social sets is not the default. A constant feature tells nothing
here, since the mean of ones is one: sets without labels need a degree feature, as the authors gave them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.nn.aggr import SortAggregation
from torch_geometric.utils import add_remaining_self_loops

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.dense import graph_by_graph
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of

FILTERS, WINDOW, DENSE = (16, 32), 5, 128
Kept = Annotated[int, Between(10, 100_000)]
"""Fewer than ten places leave nothing to the second convolution."""


class DGCNN(Model):
    """Propagation, sort pooling, two 1-D convolutions, a head of two maps.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of all propagations but the last, which has one channel.
        num_layers: number of propagations.
        k: nodes kept per graph; the authors choose it so that 60 % of the graphs have fewer.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 32,
        num_layers: Depth = 4,
        k: Kept = 30,
        dropout: Share = 0.5,
    ) -> None:
        super().__init__(in_channels, task)
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), 1]
        self.convs = nn.ModuleList(
            SAGEConv(before, after, aggr="mean", root_weight=False, bias=False) for before, after in pairwise(widths)
        )
        self.k, self.width = k, sum(widths[1:])
        self.sort = SortAggregation(k)
        self.sequence = nn.Sequential(
            nn.Conv1d(1, FILTERS[0], self.width, stride=self.width),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(*FILTERS, WINDOW),
            nn.ReLU(),
            nn.Flatten(),
        )
        places = k // 2 - WINDOW + 1
        self.head = nn.Sequential(
            nn.Linear(places * FILTERS[1], DENSE), nn.ReLU(), nn.Dropout(dropout), nn.Linear(DENSE, out_channels)
        )

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        h, edges, batch = graph_by_graph(x, edge_index, graphs)
        return self.sequence(self.sorted(self.propagated(h, edges), batch, graphs[1]))

    def propagated(self, h: Tensor, edge_index: Tensor) -> Tensor:
        """The states of all layers side by side, ``[N, D]``."""
        edges, _ = add_remaining_self_loops(edge_index, num_nodes=h.size(0))
        states = []
        for conv in self.convs:
            h = conv(h, edges).tanh()
            states.append(h)
        return torch.cat(states, dim=-1)

    def sorted(self, z: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        """The states ``[N, D]`` of the ``k`` first nodes of every graph, end to end: ``[B, 1, k D]``."""
        if not len(z):
            return z.new_zeros(batch_size, 1, self.k * self.width)
        kept: Tensor = self.sort(z, batch, dim_size=batch_size)
        return kept.unsqueeze(1)


def sixty_percent(graphs: Sequence[Data]) -> dict[str, object]:
    """The authors' ``k``: the size that 60 % of the training graphs do not exceed, at least 10."""
    sizes = sorted(int(graph.num_nodes) for graph in graphs)
    return {"k": max(10, sizes[math.ceil(0.6 * len(sizes)) - 1])}


MODELS = {
    "dgcnn": ModelBuilder(
        "DGCNN",
        "Zhang et al., 2018",
        "PyG's `SAGEConv` and `SortAggregation`; `k` is that of the training graphs, theirs of all",
        DGCNN,
        options_of(DGCNN),
        tasks=("graph",),
        measure=sixty_percent,
    )
}
