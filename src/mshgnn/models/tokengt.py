r"""TokenGT: nodes and edges are tokens of a plain transformer (Kim et al., 2022).

All of it is ours but the padding of graphs to one size. As in the authors' code there is a token for the graph, which
is read in the end, and one that says nothing. Identifiers are orthonormal as far as their width allows. They are drawn
anew for every graph in each step of the training, and are the same for all graphs of one size in evaluation, so that it
can be repeated; the authors draw there, too. A graph of :math:`n` nodes takes :math:`n` rows of an orthogonal matrix as
wide as the identifiers, whatever its neighbours in the batch; theirs is as wide as the largest graph of the batch, cut
or filled up. Their other identifiers, eigenvectors of the Laplacian, are left out. A loop is a token of an edge, theirs
of a node. They leave out whole layers at random, here is plain dropout. Renaming nodes gives other identifiers to them:
the model is invariant in distribution, not draw by draw.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch_geometric.utils import to_dense_batch

from mshgnn.models.attention import TransformerBlock, check_order
from mshgnn.models.builder import ModelBuilder
from mshgnn.models.memory import check_memory
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Depth, Share, Width, checked, options_of


def draw_identifiers(num_nodes: int, width: int, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Random unit vectors ``[num_nodes, width]``, orthonormal if ``num_nodes <= width``.

    More nodes than that get the rows of orthogonal columns. Without a generator the numbers come from torch's own;
    ``like`` gives precision and device.
    """
    device = like.device if generator is None else generator.device
    gauss = torch.randn(max(num_nodes, width), width, dtype=like.dtype, device=device, generator=generator)
    columns, triangle = torch.linalg.qr(gauss)
    # The sign makes all rotations equally likely.
    rows = (columns * triangle.diagonal().sign())[:num_nodes]
    return normalize(rows).to(like.device)


class TokenGT(Model):
    r"""A transformer over the nodes, the edges, a token for the graph and one that says nothing.

    .. math::
        t_v = W x_v + W_P [p_v \| p_v] + c_0, \qquad t_{vu} = W_e e_{vu} + W_P [p_u \| p_v] + c_1

    with orthonormal identifiers :math:`p`, so that :math:`[p_a \| p_a] \cdot [p_u \| p_v]` tells whether :math:`a` is
    an end of the edge. Blocks are :class:`TransformerBlock`; the token of the graph is its embedding.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the tokens.
        num_layers: number of blocks.
        heads: heads of the attention; they share the width.
        id_channels: width of the identifiers.
        edge_dim: width of the edge features, ``None`` without.
        dropout: share dropped of what a block adds.
        attention_dropout: share of the attention weights dropped, which makes them all: quadratic in nodes and edges.
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
        id_channels: Width = 64,
        edge_dim: Width | None = None,
        dropout: Share = 0.1,
        attention_dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.id_channels = id_channels
        self.encoder = Encoder(in_channels, hidden_channels)
        self.edge_encoder = None if edge_dim is None else nn.Linear(edge_dim, hidden_channels)
        self.identify = nn.Linear(2 * id_channels, hidden_channels, bias=False)
        self.kind = nn.Embedding(2, hidden_channels)
        self.special = nn.Embedding(2, hidden_channels)
        self.norm = nn.LayerNorm(hidden_channels)
        self.blocks = nn.ModuleList(
            TransformerBlock(hidden_channels, heads, hidden_channels, dropout, attention_dropout)
            for _ in range(num_layers)
        )
        self.head = nn.Sequential(
            nn.Linear(hidden_channels, hidden_channels),
            nn.GELU(),
            nn.LayerNorm(hidden_channels),
            nn.Linear(hidden_channels, out_channels),
        )

    def _identifiers(self, sizes: list[int]) -> Tensor:
        """One unit vector per node, ``[N, id_channels]``, for graphs of these sizes."""
        drawn = []
        for size in sizes:
            generator = None if self.training else torch.Generator().manual_seed(0)
            drawn.append(draw_identifiers(size, self.id_channels, self.identify.weight, generator))
        return torch.cat(drawn) if drawn else self.identify.weight.new_empty(0, self.id_channels)

    def tokens(self, x: Tensor, edges: Tensor, edge_attr: Tensor | None, identifiers: Tensor) -> Tensor:
        """The tokens of nodes and edges, ``[N + M, hidden_channels]``."""
        ends = torch.cat([identifiers.repeat(1, 2), identifiers[edges].transpose(0, 1).flatten(1)])
        own = self.encoder(x)
        of_edges = (
            own.new_zeros(edges.size(1), own.size(1)) if self.edge_encoder is None else self.edge_encoder(edge_attr)
        )
        kinds = torch.cat([self.kind.weight[:1].expand_as(own), self.kind.weight[1:].expand_as(of_edges)])
        return torch.cat([own, of_edges]) + self.identify(ends) + kinds

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None, "for graph tasks alone"
        edges = as_edge_index(edge_index, x.size(0), x.size(0))
        check_edge_features(edge_attr, self.edge_dim, edges.size(1), self.encoder.weight.dtype)
        batch, batch_size = graphs
        check_order(batch)
        identifiers = self._identifiers(torch.bincount(batch, minlength=batch_size).tolist())
        special = self.special.weight.repeat(batch_size, 1)
        owner = torch.cat([torch.arange(batch_size, device=x.device).repeat_interleave(2), batch, batch[edges[0]]])
        longest = int(torch.bincount(owner, minlength=1).max())
        check_memory(
            f"{batch_size:,} graphs of up to {longest:,} tokens",
            20 * len(self.blocks) * batch_size * longest * special.size(1) * special.element_size(),
        )
        order = owner.argsort(stable=True)
        tokens = torch.cat([special, self.tokens(x, edges, edge_attr, identifiers)])[order]
        z, there = to_dense_batch(tokens, owner[order], 0.0, longest, batch_size)
        z = self.norm(z)
        for block in self.blocks:
            z = block(z, ~there)
        return z[:, 0] if longest else special[:0]


MODELS = {
    "tokengt": ModelBuilder(
        "TokenGT",
        "Kim et al., 2022",
        "ours; identifiers are fixed in evaluation, Laplacian ones and dropped layers left out",
        TokenGT,
        options_of(TokenGT),
        tasks=("graph",),
    )
}
