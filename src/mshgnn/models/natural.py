r"""Natural graph network: a message is a graph network on the neighbourhood of its edge (de Haan et al., 2020).

The feature of a node is a signal on its neighbourhood, :math:`v_p \in \mathbb{R}^{|G_p| \times d}`:

.. math::
    v'_q = \mathrm{ReLU}\Big(\mathrm{BN}\Big(\sum_{p \to q} \beta_{pq} \, \Psi(\alpha_{pq} v_p, G_{pq})\Big)\Big)

:math:`\alpha` puts the signal on :math:`G_{pq} = G_p \cup G_q`, zero elsewhere, :math:`\beta` restricts it to
:math:`G_q`, and :math:`\Psi` is a GCN shared by all edges which sees ``p`` and ``q`` marked (the paper's GCN²). It
starts from :math:`v_p(x) = W x_x + b` and ends with the sum over all :math:`G_p` and a head of two maps.

``GCNConv`` is PyG's, on the disjoint union of all :math:`G_{pq}`, with the degrees inside them; the rest is ours, on
the lists of :mod:`mshgnn.structure.edge_neighbourhoods`. No code of the authors was found, and their settings on the
usual data sets are unknown: closed neighbourhoods of one hop, messages from a node to itself, widths, depths and batch
norm are our choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.memory import check_memory
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.nn.structured import StructuredModel
from mshgnn.structure import owners
from mshgnn.structure.edge_neighbourhoods import edge_neighbourhoods

MARKS = 2


class NaturalConv(nn.Module):
    """The sum of natural messages: signals on neighbourhoods ``[pairs, d]`` to such signals."""

    def __init__(self, channels: int, inner_layers: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            GCNConv(channels if layer else channels + MARKS, channels) for layer in range(inner_layers)
        )

    def forward(self, v: Tensor, structure: Mapping[str, Tensor]) -> Tensor:
        """``[pairs, channels]``."""
        source, target = structure["copy_from"], structure["copy_to"]
        nowhere = v.new_zeros(1, v.size(1))  # what -1 points to
        signal = torch.cat([v, nowhere])[source]
        signal = torch.cat([signal, structure["copy_marks"].to(v.dtype)], dim=1)
        inner = structure["inner_ends"].t()
        for number, conv in enumerate(self.convs):
            signal = conv(signal.relu() if number else signal, inner)
        seen = target >= 0
        return scatter(signal[seen], target[seen], dim_size=v.size(0), reduce="sum")


class NaturalGN(StructuredModel):
    """Linear encoder, natural layers, the sum over all neighbourhoods, a head of two maps.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the signals.
        num_layers: number of natural layers.
        inner_layers: graph convolutions of one message.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 64,
        num_layers: Depth = 3,
        inner_layers: Depth = 2,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, (edge_neighbourhoods(),))
        self.encoder = Encoder(in_channels, hidden_channels)
        self.convs = nn.ModuleList(NaturalConv(hidden_channels, inner_layers) for _ in range(num_layers))
        self.norms = nn.ModuleList(batch_norm(hidden_channels) for _ in self.convs)
        # What the backward pass keeps per copy of a node: signals before and after the convolutions of all messages.
        self.kept = hidden_channels * num_layers * (inner_layers + 1)
        self.head = make_head(hidden_channels, hidden_channels, out_channels, 2, dropout)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        copies, edges = len(structure["copy_from"]), len(structure["inner_ends"])
        sent = 3 * (copies + edges) * self.encoder.out_features
        check_memory(
            f"messages on {copies:,} copies of nodes with {edges:,} edges",
            self.encoder.weight.element_size() * (self.kept * copies + sent),
        )
        v = self.encoder(x)[structure["pair_node"]]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            v = norm(conv(v, structure)).relu()
        return pool_nodes(v, owners(structure["pair_ptr"]), graphs[1], "sum")


MODELS = {
    "natural": ModelBuilder(
        "Natural GN",
        "de Haan et al., 2020",
        "PyG's `GCNConv`, neighbourhoods ours; no release found, so widths and depths are a guess",
        NaturalGN,
        options_of(NaturalGN),
        tasks=("graph",),
    ),
}
