r"""Exphormer: attention along edges, the edges of an expander, and virtual nodes (Shirzad et al., 2023).

A layer is that of GraphGPS with attention over the sparse set :math:`S` of pairs:

.. math::
    s_{vu} = \sum_c \frac{(Q h_v)_c (K h_u)_c (E e_{vu})_c}{\sqrt{d_h}}, \qquad
    a_v = \frac{\sum_{u : (u, v) \in S} w_{vu} V h_u}{\sum_u w_{vu} + 10^{-6}}, \qquad
    w = \exp(\mathrm{clamp}(s, \pm 5)) \\
    h' = \mathrm{BN}(h + \mathrm{drop}(a)) + \mathrm{BN}(h + \mathrm{drop}(\mathrm{GCN}(h))), \qquad
    h'' = \mathrm{BN}(h' + \mathrm{FFN}(h'))

:math:`e_{vu}` is a learned vector per sort of pair: edge, expander, to and from each virtual node. A virtual node
starts as a learned vector, and after a layer is what it has attended to. A graph's embedding is the mean of its nodes.

GCN is PyG's, attention ours. The defaults are those of the authors' runs on co-purchases and co-authors: no virtual
node, no positional encoding. Different from the release: edges that the data has in both directions are not doubled,
dropout on attention weights, which the release states and never applies, is not offered, and the expander is the same
in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gat import head_width
from mshgnn.nn import StructuredModel
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.structure.expander import expander

CLAMP, EPSILON = 5.0, 1e-6


class SparseAttention(nn.Module):
    """Attention over given pairs, each of a sort; a pair that is given twice counts twice."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.shape = (heads, head_width(channels, heads))
        self.query, self.key, self.value = (nn.Linear(channels, channels, bias=False) for _ in range(3))
        self.pair = nn.Linear(channels, channels, bias=False)

    def forward(self, h: Tensor, pairs: Tensor, sort: Tensor, sorts: Tensor) -> Tensor:
        """States ``[N, d]`` to messages ``[N, d]``: pairs ``[2, P]``, their sorts ``[P]``, vectors ``[sorts, d]``."""
        sender, receiver = pairs
        query, key, value = (linear(h).view(-1, *self.shape) for linear in (self.query, self.key, self.value))
        scores = (query[receiver] * key[sender] * self.pair(sorts).view(-1, *self.shape)[sort]).sum(-1)
        weights = (scores / self.shape[1] ** 0.5).clamp(-CLAMP, CLAMP).exp().unsqueeze(-1)
        total = scatter(weights, receiver, dim=0, dim_size=h.size(0))
        heard = scatter(weights * value[sender], receiver, dim=0, dim_size=h.size(0))
        return (heard / (total + EPSILON)).flatten(1)


class ExphormerLayer(nn.Module):
    """Attention and GCN side by side, then a perceptron."""

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.conv = SparseAttention(channels, heads), GCNConv(channels, channels)
        self.attention_norm, self.conv_norm, self.update_norm = (batch_norm(channels) for _ in range(3))
        self.update = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
            nn.Dropout(dropout),
        )
        self.drop = nn.Dropout(dropout)

    def forward(
        self, h: Tensor, virtual: Tensor, edge_index: Tensor, pairs: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor]:
        """The next states of nodes ``[N, d]`` and of virtual nodes ``[G v, d]``."""
        heard = self.attention(torch.cat([h, virtual]), *pairs)
        attended = self.attention_norm(h + self.drop(heard[: len(h)]))
        h = attended + self.conv_norm(h + self.drop(self.conv(h, edge_index)))
        return self.update_norm(h + self.update(h)), heard[len(attended) :]


class Exphormer(StructuredModel):
    """The model.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the states.
        num_layers: number of layers.
        heads: of attention; they share the width.
        dropout: share dropped.
        expander_degree: permutations that make the expander; a node has twice as many edges in it.
        virtual_nodes: of each graph.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 64,
        num_layers: Depth = 4,
        heads: Width = 2,
        dropout: Share = 0.4,
        expander_degree: Annotated[int, Between(1, 100)] = 3,
        virtual_nodes: Annotated[int, Between(0, 100)] = 0,
    ) -> None:
        super().__init__(in_channels, task, (expander(expander_degree),))
        self.encoder = Encoder(in_channels, hidden_channels)
        self.first = nn.Sequential(
            nn.Linear(hidden_channels, hidden_channels), batch_norm(hidden_channels), nn.Dropout(dropout), nn.ReLU()
        )
        self.virtual_nodes = virtual_nodes
        self.virtual = nn.Embedding(virtual_nodes, hidden_channels) if virtual_nodes else None
        self.sorts = nn.Embedding(2 + 2 * virtual_nodes, hidden_channels)
        self.layers = nn.ModuleList(ExphormerLayer(hidden_channels, heads, dropout) for _ in range(num_layers))
        self.head = nn.Linear(hidden_channels, out_channels)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        h = self.first(self.encoder(x))
        virtual = h.new_zeros(0, h.size(1)) if self.virtual is None else self.virtual.weight.repeat(graphs[1], 1)
        pairs, sort = self.pairs(edge_index, structure["expander"], graphs)
        for layer in self.layers:
            h, virtual = layer(h, virtual, edge_index, (pairs, sort, self.sorts.weight))
        return h if self.task == "node" else pool_nodes(h, *graphs, "mean")

    def pairs(self, edge_index: Tensor, expander: Tensor, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """Sender and receiver of all pairs ``[2, P]``, and the sort of each ``[P]``.

        Virtual node ``t`` of graph ``g`` is number ``N + v g + t``.
        """
        batch, _ = graphs
        groups = [edge_index, expander.t()]
        nodes = torch.arange(len(batch), device=batch.device)
        for t in range(self.virtual_nodes):
            there = len(batch) + self.virtual_nodes * batch + t
            groups += [torch.stack([nodes, there]), torch.stack([there, nodes])]
        sizes = torch.tensor([group.size(1) for group in groups], device=batch.device)
        return torch.cat(groups, dim=1), torch.arange(len(groups), device=batch.device).repeat_interleave(sizes)


MODELS = {
    "exphormer": ModelBuilder(
        "Exphormer",
        "Shirzad et al., 2023",
        "PyG's `GCNConv`, attention ours; edges are not doubled, every run has one expander",
        Exphormer,
        options_of(Exphormer),
    )
}
