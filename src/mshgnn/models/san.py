r"""SAN: attention between all nodes, edges and other pairs told apart, and positions learned from the spectrum
(Kreuzer et al., 2021).

A node's position :math:`p_v` is what a small transformer makes of the sequence :math:`(\phi_t(v), \lambda_t)` of the
lowest eigenvectors, summed over :math:`t`. Then :math:`h^0_v = [W x_v \,\|\, p_v]` and

.. math::
    s_{vu} = \sum_c \frac{(Q h_v)_c (K h_u)_c (E e)_c}{\sqrt{d_h}}, \qquad
    w_{vu} = \frac{\exp(\mathrm{clamp}(s_{vu}, \pm 5))}{1 + \gamma} \cdot \begin{cases} 1 & \text{edge} \\
    \gamma & \text{other pair}\end{cases}, \qquad
    a_v = \frac{\sum_u w_{vu} V h_u}{\sum_u w_{vu} + 10^{-6}}

with :math:`Q, K, E` of its own for edges and for other pairs, :math:`u \ne v`, and
:math:`h' = \mathrm{BN}(h + O\,\mathrm{drop}(a))`, :math:`h'' = \mathrm{BN}(h' + \mathrm{FFN}(h'))`. A graph's embedding
is the mean over its nodes; the head has three layers.

The sequence's transformer is torch's, the rest ours. As in the release, a node's row of eigenvectors has length 1 and
one denominator serves both sorts of pairs. Different from it: there are no edge features, so :math:`e` is one vector
per sort; signs of eigenvectors are flipped in training, which the release does for two of its data sets only; loops in
the data are left out; pairs are not listed but scores computed as a product, in blocks of rows where they are many.
The model depends on the basis of multiple eigenvalues, as the original does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from torch import Tensor, nn

from mshgnn.errors import UserError
from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gat import head_width
from mshgnn.models.rectangle import Rectangle, by_rows, join_heads, split_heads
from mshgnn.nn import StructuredModel
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import halving_head
from mshgnn.nn.model import Graphs, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes
from mshgnn.structure.spectrum import lowest_eigenvectors

CLAMP, EPSILON = 5.0, 1e-6


class SpectralPosition(nn.Module):
    """A node's position from its entries in the lowest eigenvectors, ``[N, m]`` and eigenvalues ``[N, m]``."""

    def __init__(self, channels: int, num_layers: int, heads: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.encoder = nn.Linear(2, channels)
        layer = nn.TransformerEncoderLayer(channels, heads, width, dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)

    def forward(self, eigenvector: Tensor, eigenvalue: Tensor) -> Tensor:
        """Positions ``[N, channels]``; entries that are NaN are not there."""
        missing = eigenvector.isnan()
        rows = nn.functional.normalize(eigenvector.nan_to_num(), dim=1)
        pairs = torch.stack([rows, eigenvalue.nan_to_num()], dim=-1)
        elements = eigenvector.size(1) * self.width
        return by_rows(self._encode, [pairs, missing], [], elements, dim=0)

    def _encode(self, pairs: Tensor, missing: Tensor) -> Tensor:
        if not len(pairs):
            return self.encoder(pairs).sum(1)
        states = self.layers(self.encoder(pairs), src_key_padding_mask=missing)
        return states.masked_fill(missing.unsqueeze(-1), 0).sum(1)


class PairScores(nn.Module):
    """The scores of one sort of pair: queries, keys, and the vector that all pairs of the sort share."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (nn.Linear(channels, channels, bias=False) for _ in range(2))
        self.edge = nn.Linear(channels, channels, bias=False)

    def forward(self, h: Tensor, sort: Tensor) -> tuple[Tensor, Tensor]:
        """Queries, which hold the vector and the root of the width, and keys ``[G, heads, n, d_h]``."""
        query = split_heads(self.query(h) * self.edge(sort), self.heads)
        return query / query.size(-1) ** 0.5, split_heads(self.key(h), self.heads)


class SANLayer(nn.Module):
    """Attention over edges and other pairs, then a perceptron; each is added and normalised."""

    def __init__(self, channels: int, heads: int, gamma: float, dropout: float) -> None:
        super().__init__()
        self.heads, self.gamma = heads, gamma
        self.edges = PairScores(channels, heads)
        self.others = PairScores(channels, heads) if gamma else None
        self.value = nn.Linear(channels, channels, bias=False)
        self.out = nn.Linear(channels, channels)
        self.drop = nn.Dropout(dropout)
        self.update = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Dropout(dropout), nn.Linear(2 * channels, channels)
        )
        self.attention_norm, self.update_norm = batch_norm(channels), batch_norm(channels)

    def forward(self, h: Tensor, sorts: Tensor, edges: Tensor, place: Rectangle) -> Tensor:
        """States ``[N, d]`` to the next, with the vectors of both sorts ``[2, d]`` and edges ``[G, n, n]``."""
        h = self.attention_norm(h + self.out(self.drop(self.attend(h, sorts, edges, place))))
        return self.update_norm(h + self.update(h))

    def attend(self, h: Tensor, sorts: Tensor, edges: Tensor, place: Rectangle) -> Tensor:
        """The weighted means of the values ``[N, d]``."""
        spread = place.spread(h)
        value = split_heads(self.value(spread), self.heads)
        query, key = self.edges(spread, sorts[1])
        rows = torch.arange(place.nodes, device=h.device).view(1, 1, -1, 1)
        by_row, whole = [query, edges.unsqueeze(1), rows], [key, value]
        if self.others is not None:
            other_query, other_key = self.others(spread, sorts[0])
            by_row, whole = [*by_row, other_query], [*whole, place.mask, other_key]
        function = self._edges if self.others is None else self._all
        found = by_rows(function, by_row, whole, 2 * place.graphs * self.heads * place.nodes)
        return place.collect(join_heads(found))

    def _edges(self, query: Tensor, edges: Tensor, rows: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The block without other pairs."""
        others = torch.arange(key.size(-2), device=key.device) != rows
        return _mean(_weights(query, key) * (edges & others), value)

    def _all(
        self,
        query: Tensor,
        edges: Tensor,
        rows: Tensor,
        other_query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor,
        other_key: Tensor,
    ) -> Tensor:
        """The block with both sorts of pairs."""
        another = (torch.arange(key.size(-2), device=key.device) != rows) & mask[:, None, None]
        weights = torch.where(edges, _weights(query, key), self.gamma * _weights(other_query, other_key))
        return _mean(weights * another / (1 + self.gamma), value)


def _weights(query: Tensor, key: Tensor) -> Tensor:
    return (query @ key.mT).clamp(-CLAMP, CLAMP).exp()


def _mean(weights: Tensor, value: Tensor) -> Tensor:
    return weights @ value / (weights.sum(-1, keepdim=True) + EPSILON)


class SAN(StructuredModel):
    """The model.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the states, positions included.
        num_layers: number of layers of attention.
        heads: of attention; they share the width.
        dropout: share dropped of the attention's result and inside the perceptron.
        gamma: weight of pairs that are no edge; 0 leaves the edges alone.
        num_eigenvectors: length of the sequence that gives a position.
        position_channels: width of a position.
        position_layers: layers of the sequence's transformer.
        position_heads: its heads.
        position_hidden: width inside its perceptrons.
        position_dropout: share dropped in it.
        flip_signs: draw the signs of the eigenvectors anew in every training step.
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
        dropout: Share = 0.0,
        gamma: Annotated[float, Between(0, 1000)] = 0.1,
        num_eigenvectors: Annotated[int, Between(1, 1000)] = 10,
        position_channels: Width = 8,
        position_layers: Depth = 2,
        position_heads: Width = 4,
        position_hidden: Width = 2048,
        position_dropout: Share = 0.1,
        flip_signs: bool = True,
    ) -> None:
        super().__init__(in_channels, task, (lowest_eigenvectors(num_eigenvectors),))
        if position_channels >= hidden_channels:
            raise UserError(
                f"position_channels must be below hidden_channels {hidden_channels}, got {position_channels}"
            )
        if position_channels % position_heads:
            raise UserError(f"position_heads must divide position_channels {position_channels}, got {position_heads}")
        head_width(hidden_channels, heads)
        self.flip_signs = flip_signs
        self.encoder = Encoder(in_channels, hidden_channels - position_channels)
        self.position = SpectralPosition(
            position_channels, position_layers, position_heads, position_hidden, position_dropout
        )
        self.sorts = nn.Embedding(2, hidden_channels)
        self.layers = nn.ModuleList(SANLayer(hidden_channels, heads, gamma, dropout) for _ in range(num_layers))
        self.head = halving_head(hidden_channels, out_channels)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        eigenvector, eigenvalue = (
            structure[name].to(self.sorts.weight.dtype) for name in ("eigenvector", "eigenvalue")
        )
        if self.training and self.flip_signs:
            signs = torch.randint(0, 2, eigenvalue.shape, device=x.device) * 2 - 1
            eigenvector = eigenvector * signs[graphs[0]]
        h = torch.cat([self.encoder(x), self.position(eigenvector, eigenvalue[graphs[0]])], dim=1)
        place = Rectangle(*graphs)
        edges = place.edges(edge_index)
        for layer in self.layers:
            h = layer(h, self.sorts.weight, edges, place)
        return h if self.task == "node" else pool_nodes(h, *graphs, "mean")


MODELS = {
    "san": ModelBuilder(
        "SAN",
        "Kreuzer et al., 2021",
        "ours, positions by torch's transformer; signs are flipped in all training, no edge features",
        SAN,
        options_of(SAN),
    )
}
