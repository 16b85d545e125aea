r"""Graphormer: a transformer that knows how far apart two nodes are (Ying et al., 2021).

.. math::
    h^0_v &= W x_v + z^-_{\deg^-(v)} + z^+_{\deg^+(v)} \\
    h' &= h + \mathrm{drop}(\mathrm{MHA}(\mathrm{LN}\, h)), \qquad
    h'' = h' + \mathrm{drop}(\mathrm{FFN}(\mathrm{LN}\, h')) \\
    A_{vu} &= \frac{q_v \cdot k_u}{\sqrt{d_h}} + b_{\phi(v, u)}

:math:`\phi` is the length of the shortest path, in buckets: one per length up to ``max_distance``, which longer paths
share, and one for nodes out of reach. Each head has its own :math:`b`, which all layers share. On graph tasks a learned
token is one node more, with a bucket of its own; its last state is the graph's. On nodes there is no token, as in the
port of the GraphGPS authors. The blocks are those of the paper and of the authors' first release.

All is ours; the distances are scipy's. Different from the release: real features have a linear map instead of an
embedding of categories; degrees from ``max_degree`` on share a row, where the release fails; the path's edge features
are left out, for with one kind of edge they are a function of :math:`\phi`. Keys have no bias, which softmax cancels.
Scores are computed in blocks of rows where they are many, so that a graph of ten thousand nodes fits; the memory is
that of the distances, one byte per pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.utils import degree

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gat import head_width
from mshgnn.models.rectangle import Rectangle, by_rows, join_heads, split_heads
from mshgnn.nn import StructuredModel
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Task
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.structure.distances import distances


class BiasedAttention(nn.Module):
    """Softmax attention of all nodes of a graph whose scores get a learned number per head and bucket."""

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.scale = head_width(channels, heads) ** -0.5
        self.query, self.value, self.out = (nn.Linear(channels, channels) for _ in range(3))
        self.key = nn.Linear(channels, channels, bias=False)

    def forward(self, h: Tensor, bucket: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        """Messages ``[G, n, d]`` of states; buckets ``[G, n, n]``, who is there ``[G, n]``, bias ``[B, heads]``."""
        q, k, v = (split_heads(linear(h), self.heads) for linear in (self.query, self.key, self.value))
        elements = h.size(0) * self.heads * h.size(1)
        return self.out(join_heads(by_rows(self._attend, [q, bucket.unsqueeze(1)], [k, v, mask, bias], elements)))

    def _attend(self, q: Tensor, bucket: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        scores = self.scale * q @ k.mT + bias[bucket.squeeze(1).int()].movedim(-1, 1)
        # The smallest number instead of minus infinity: a graph without nodes has rows without a key.
        scores = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min)
        return dropout(scores.softmax(-1), self.dropout, self.training) @ v


class GraphormerLayer(nn.Module):
    """Attention and a perceptron, each of normalised states and added to them."""

    def __init__(self, channels: int, heads: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention_norm, self.update_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.attention = BiasedAttention(channels, heads, attention_dropout)
        self.update = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, channels))
        self.drop = nn.Dropout(dropout)

    def forward(self, h: Tensor, bucket: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        """The next states ``[G, n, d]``."""
        h = h + self.drop(self.attention(self.attention_norm(h), bucket, mask, bias))
        return h + self.drop(self.update(self.update_norm(h)))


class Graphormer(StructuredModel):
    """The model.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the states.
        num_layers: number of blocks.
        heads: of attention; they share the width.
        dropout: share dropped of what a block adds.
        attention_dropout: share of the attention weights dropped.
        max_distance: from this length on paths share a bucket.
        max_degree: from this degree on nodes share a row.
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
        heads: Width = 4,
        dropout: Share = 0.1,
        attention_dropout: Share = 0.0,
        max_distance: Annotated[int, Between(1, 250)] = 20,
        max_degree: Width = 512,
    ) -> None:
        super().__init__(in_channels, task, (distances(max_distance),))
        self.encoder = Encoder(in_channels, hidden_channels)
        self.degree_in, self.degree_out = (nn.Embedding(max_degree + 1, hidden_channels) for _ in range(2))
        self.token = nn.Parameter(torch.empty(hidden_channels)) if task == "graph" else None
        self.token_bucket = max_distance + 2
        self.bias = nn.Embedding(self.token_bucket + (task == "graph"), heads)
        self.layers = nn.ModuleList(
            GraphormerLayer(hidden_channels, heads, dropout, attention_dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels)
        self.head = nn.Linear(hidden_channels, out_channels)
        self._draw_embeddings()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        self._draw_embeddings()

    def _draw_embeddings(self) -> None:
        """As in the release, N(0, 0.02): at torch's N(0, 1) degrees and distances would drown the features."""
        drawn = [self.degree_in.weight, self.degree_out.weight, self.bias.weight]
        for weight in drawn if self.token is None else [*drawn, self.token]:
            nn.init.normal_(weight, std=0.02)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        largest = self.degree_in.num_embeddings - 1
        sent, heard = (degree(end, x.size(0), dtype=torch.long).clamp(max=largest) for end in edge_index)
        place = Rectangle(*graphs)
        h = place.spread(self.encoder(x) + self.degree_in(heard) + self.degree_out(sent))
        bucket, mask = place.spread_pairs(structure["distance"]), place.mask
        if self.token is not None:
            h = torch.cat([self.token.expand(place.graphs, 1, -1), h], dim=1)
            bucket = nn.functional.pad(bucket, (1, 0, 1, 0), value=self.token_bucket)
            mask = nn.functional.pad(mask, (1, 0), value=True)
        for layer in self.layers:
            h = layer(h, bucket, mask, self.bias.weight)
        return self.norm(h[:, 0] if self.token is not None else place.collect(h))


MODELS = {
    "graphormer": ModelBuilder(
        "Graphormer",
        "Ying et al., 2021",
        "ours, distances by scipy; large degrees share a row, no edge features along paths",
        Graphormer,
        options_of(Graphormer),
    )
}
