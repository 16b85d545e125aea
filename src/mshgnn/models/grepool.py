r"""GrePool: a transformer that drops in every layer the nodes its class token looks at least (Liu et al., 2025).

Four GIN layers, a class token beside the nodes, then encoder layers. With attention :math:`P^t` and queries :math:`q^t`
of head :math:`t`:

.. math::
    s_j = \sum_t P^t_{\mathrm{cls}, j} \, \frac{u^t_j}{\sum_{t'} u^{t'}_j}, \quad
    u^t_j = \Big\lVert \sum_i P^t_{ji} q^t_i \Big\rVert, \qquad
    x \leftarrow \mathrm{LN}(x + \mathrm{attention}(x)), \quad \text{keep } \lceil \rho n \rceil \text{ nodes}, \quad
    x \leftarrow \mathrm{LN}(x + \mathrm{FFN}(x))

Logits are a linear map of the class token. ``GINEConv`` is PyG's, attention is torch's, the rest ours.

This is our reading of the released code, none of whose variants runs: between keeping and FFN it adds a second
attention whose result is no tensor, which is left out here. It keeps a share of the *padded* length, so that a
prediction depends on the largest graph of its batch; here it is a share of the graph's own nodes. It cuts graphs at
1000 nodes; here a graph too large is refused. The uniform loss on dropped nodes (GrePool+) is computed there and then
thrown away; it is not here.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import GINEConv

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.dense import graph_by_graph, largest_graph, padded
from mshgnn.models.gat import head_width
from mshgnn.models.memory import check_memory
from mshgnn.nn.model import Graphs, Model
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of

Kept = Annotated[float, Between(0.01, 1)]


class GINLayer(nn.Module):
    """``BN(MLP((1 + eps) x_v + sum_u relu(x_u)))``, as OGB has it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        inner = [nn.Linear(channels, 2 * channels), batch_norm(2 * channels), nn.ReLU()]
        self.conv = GINEConv(nn.Sequential(*inner, nn.Linear(2 * channels, channels)), train_eps=True)
        self.norm = batch_norm(channels)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        """``[N, channels]``."""
        result: Tensor = self.norm(self.conv(h, edge_index, h.new_zeros(1, self.channels)))
        return result


class PruningLayer(nn.Module):
    """An encoder layer that keeps the share ``ratio`` of every graph's nodes, and the class token, which is first."""

    def __init__(self, channels: int, heads: int, ratio: float, dropout: float) -> None:
        super().__init__()
        self.heads, self.ratio = heads, ratio
        self.attention = nn.MultiheadAttention(channels, heads, dropout, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Dropout(dropout), nn.Linear(2 * channels, channels)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The kept tokens ``[B, 1 + k, d]`` and their mask, from ``[B, 1 + n, d]`` and ``[B, 1 + n]``."""
        heard, weights = self.attention(x, x, x, key_padding_mask=~mask, average_attn_weights=False)
        kept, kept_mask = self.best(self.scores(x, weights), mask)
        x = self.norm1(x + self.dropout(heard))
        x = x.gather(1, kept.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        return self.norm2(x + self.dropout(self.feed_forward(x))), kept_mask

    def scores(self, x: Tensor, weights: Tensor) -> Tensor:
        """``s [B, 1 + n]`` from tokens and attention ``[B, heads, 1 + n, 1 + n]``."""
        own = self.attention.in_proj_weight, self.attention.in_proj_bias
        projection, shift = (parameter[: x.size(-1)] for parameter in own)
        queries = nn.functional.linear(x, projection, shift).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        return (weights[:, :, 0] * head_weights(weights, queries)).sum(1)

    def best(self, scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The class token and the ``ceil(ratio n)`` nodes of each graph with the largest scores, and which are real."""
        # The guard keeps a product such as 0.1 * 30 from being just above 3.
        counts = 1 + (self.ratio * mask[:, 1:].sum(1).double() - 1e-9).ceil().long()
        ranked = scores.masked_fill(~mask, -torch.inf)
        ranked[:, 0] = torch.inf
        order = ranked.argsort(dim=1, descending=True, stable=True)
        length = int(counts.max()) if len(counts) else 1
        return order[:, :length], torch.arange(length, device=mask.device) < counts[:, None]


def head_weights(weights: Tensor, queries: Tensor) -> Tensor:
    """How much each head counts for a token, ``[B, heads, n]``, by the length of what it hears of the queries."""
    lengths = (weights @ queries).norm(dim=-1)
    return lengths / (lengths.sum(1, keepdim=True) + 1e-8)


class GrePool(Model):
    """Linear encoder, GIN layers, pruning encoder layers with a class token, a linear head.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of all layers.
        num_convs: GIN layers.
        num_layers: encoder layers.
        heads: heads of attention.
        ratio: share of a graph's nodes that every encoder layer keeps.
        dropout: share dropped in all layers.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 128,
        num_convs: Depth = 4,
        num_layers: Depth = 4,
        heads: Width = 4,
        ratio: Kept = 0.5,
        dropout: Share = 0.1,
    ) -> None:
        super().__init__(in_channels, task)
        d = hidden_channels
        head_width(d, heads)
        self.encoder = nn.Linear(in_channels, d)
        self.convs = nn.ModuleList(GINLayer(d) for _ in range(num_convs))
        self.bridge = nn.Linear(d, d)
        self.token = nn.Parameter(torch.empty(1, 1, d))
        self.first_norm, self.last_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.layers = nn.ModuleList(PruningLayer(d, heads, ratio, dropout) for _ in range(num_layers))
        self.head = nn.Linear(d, out_channels)
        self.heads, self.ratio, self.dropout = heads, ratio, dropout
        nn.init.normal_(self.token, std=0.02)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        nn.init.normal_(self.token, std=0.02)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None
        size = graphs[1]
        if not size:  # torch's attention refuses a batch of nothing
            return self.token.new_zeros(0, self.token.size(-1))
        h, edges, batch = graph_by_graph(x, edge_index, graphs)
        self._check_memory(largest_graph(batch, size), size, h.element_size())
        h = self.encoder(h)
        for conv in self.convs:
            h = conv(h, edges)
            h = dropout(h if conv is self.convs[-1] else h.relu(), self.dropout, self.training)
        nodes, mask = padded(self.bridge(h), batch, size)
        tokens = self.first_norm(torch.cat([self.token.expand(size, -1, -1), nodes], dim=1))
        mask = torch.cat([mask.new_ones(size, 1), mask], dim=1)
        for layer in self.layers:
            tokens, mask = layer(tokens, mask)
        embedding: Tensor = self.last_norm(tokens[:, 0])
        return embedding

    def _check_memory(self, nodes: int, size: int, element: int) -> None:
        """Attention in all layers, of which torch and the scores keep eight forms."""
        cells = sum(math.ceil(nodes * self.ratio**layer + 1) ** 2 for layer in range(len(self.layers)))
        what = f"attention of GrePool on a batch of {size} with up to {nodes:,} nodes per graph"
        check_memory(what, 8 * element * size * self.heads * cells)


MODELS = {
    "grepool": ModelBuilder(
        "GrePool",
        "Liu et al., 2025",
        "PyG's `GINEConv`, torch's attention; a share of each graph's nodes stays, theirs of the padded length",
        GrePool,
        options_of(GrePool),
        tasks=("graph",),
    ),
}
