"""GT: the graph transformer whose nodes attend to their neighbours (Dwivedi and Bresson, 2020).

The attention is ours: PyG's ``TransformerConv`` (the model ``transformer``) adds edge features to keys and values, here
they multiply the scores and are updated from layer to layer. Without edge features, and with no score at its limit, the
two are the same. As in the authors' code scores are cut at 5 on both sides. Theirs also updates the edges in the last
layer, where nobody reads them: this one does not. Their Laplacian encoding is the data set's: add ``lappe`` to the
features; its signs are drawn once for the data set, theirs anew for each batch.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.utils import scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gat import head_width
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import halving_head
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import Reduction, pool_nodes

SCORE_LIMIT = 5.0


class NeighbourAttention(nn.Module):
    r"""Attention of every node over its senders, with ``d_h`` channels in each head.

    .. math::
        s_{vu} = \frac{(W_q h_v) \odot (W_k h_u) \odot (W_e e_{vu})}{\sqrt{d_h}} \in \mathbb{R}^{d_h}, \qquad
        w_{vu} = \exp(\mathrm{clamp}(\textstyle\sum_c s_{vu,c}, \pm 5)), \qquad
        a_v = \frac{\sum_u w_{vu} W_v h_u}{\sum_u w_{vu} + 10^{-6}}

    Without edge features the factor :math:`W_e e_{vu}` is left out. A node without senders gets zeros.

    Args:
        channels: width of nodes and edges, in all heads together.
        heads: number of heads.
        edges: whether edges have features.
    """

    def __init__(self, channels: int, heads: int, edges: bool) -> None:
        super().__init__()
        self.heads = heads
        self.width = head_width(channels, heads)
        self.query, self.key, self.value = (nn.Linear(channels, channels, bias=False) for _ in range(3))
        self.edge = nn.Linear(channels, channels, bias=False) if edges else None

    def forward(self, h: Tensor, edge_index: Tensor, e: Tensor | None) -> tuple[Tensor, Tensor]:
        """What the nodes heard ``[N, channels]``, and the scores of the edges channel by channel ``[M, channels]``."""
        sender, receiver = edge_index
        query, key, value = (self._split(linear(h)) for linear in (self.query, self.key, self.value))
        scores = query[receiver] * key[sender] / self.width**0.5
        if self.edge is not None and e is not None:
            scores = scores * self._split(self.edge(e))
        weight = scores.sum(-1, keepdim=True).clamp(-SCORE_LIMIT, SCORE_LIMIT).exp()
        total = scatter(weight, receiver, dim_size=len(h), reduce="sum")
        heard = scatter(weight * value[sender], receiver, dim_size=len(h), reduce="sum") / (total + 1e-6)
        return heard.flatten(1), scores.flatten(1)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(-1, self.heads, self.width)


class PostNormUpdate(nn.Module):
    r"""Twice a residual and a batch norm; the hidden layer of the perceptron is twice as wide.

    .. math::
        y = \mathrm{BN}(h + O\,\mathrm{drop}(m)), \qquad
        h' = \mathrm{BN}(y + W_2\,\mathrm{drop}(\mathrm{relu}(W_1 y)))
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.output = nn.Sequential(nn.Dropout(dropout), nn.Linear(channels, channels))
        self.norm = batch_norm(channels)
        self.perceptron = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Dropout(dropout), nn.Linear(2 * channels, channels)
        )
        self.last_norm = batch_norm(channels)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The next states from the states ``h`` and what they heard ``m``, all ``[rows, channels]``."""
        y = self.norm(h + self.output(m))
        return self.last_norm(y + self.perceptron(y))


class GTLayer(nn.Module):
    """:class:`NeighbourAttention`, then one :class:`PostNormUpdate` for nodes and one for edges that are read again."""

    def __init__(self, channels: int, heads: int, dropout: float, *, edges: bool, last: bool) -> None:
        super().__init__()
        self.attention = NeighbourAttention(channels, heads, edges)
        self.node_update = PostNormUpdate(channels, dropout)
        self.edge_update = PostNormUpdate(channels, dropout) if edges and not last else None

    def forward(self, h: Tensor, edge_index: Tensor, e: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The next states of nodes ``[N, channels]`` and edges ``[M, channels]``."""
        heard, scores = self.attention(h, edge_index, e)
        if self.edge_update is not None and e is not None:
            e = self.edge_update(e, scores)
        return self.node_update(h, heard), e


class GT(Model):
    """Linear encoders, :class:`GTLayer` after :class:`GTLayer`, a readout, and a head that halves the width twice.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the states.
        num_layers: number of layers.
        heads: heads of the attention; they share the width.
        edge_dim: width of the edge features, ``None`` without.
        readout: ``"sum"``, ``"mean"`` or ``"max"`` over the nodes of a graph.
        dropout: share dropped of what a node heard and in the perceptrons.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 80,
        num_layers: Depth = 10,
        heads: Width = 8,
        edge_dim: Width | None = None,
        readout: Reduction = "sum",
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.readout = readout
        self.encoder = Encoder(in_channels, hidden_channels)
        self.edge_encoder = None if edge_dim is None else nn.Linear(edge_dim, hidden_channels)
        self.layers = nn.ModuleList(
            GTLayer(hidden_channels, heads, dropout, edges=edge_dim is not None, last=layer == num_layers - 1)
            for layer in range(num_layers)
        )
        self.head = halving_head(hidden_channels, out_channels)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        edges = as_edge_index(edge_index, x.size(0), x.size(0))
        check_edge_features(edge_attr, self.edge_dim, edges.size(1), self.encoder.weight.dtype)
        h = self.encoder(x)
        e = None if self.edge_encoder is None else self.edge_encoder(edge_attr)
        for layer in self.layers:
            h, e = layer(h, edges, e)
        return h if graphs is None else pool_nodes(h, *graphs, self.readout)


MODELS = {
    "gt": ModelBuilder(
        "GT",
        "Dwivedi and Bresson, 2020",
        "ours; encodings are input features, the last layer leaves edges alone",
        GT,
        options_of(GT),
    )
}
