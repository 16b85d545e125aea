r"""N2: nodes and pseudo nodes exchange messages by proximity, one layer again and again (Sun et al., 2024).

All of it is ours but the normalised adjacency, which is PyG's ``gcn_norm``. Where paper and released code differ this
is the code: neighbours are summed by the symmetric :math:`\hat A` without a nonlinearity, only pseudo nodes have
several pieces, and there are layer norms, :math:`1/N` and a limit on proximities. Parameters that the code makes and
never reads are left out. Edge features are summed onto their sender and read beside its features; the code also gives
every added loop features of ones, here it has none.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, to_dense_batch

from mshgnn.models.attention import check_order
from mshgnn.models.builder import ModelBuilder
from mshgnn.models.propagation import Weighted, normalised, propagate
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Depth, Share, Width, checked, options_of

ROW_LIMIT = 1e4


class Proximity(nn.Module):
    r""":math:`\psi(A, B) = \frac{1}{kq} \sum_{s=1}^k \lambda_s A_s B_s^\top` with learned :math:`\lambda`.

    A side with one piece counts as ``k`` equal ones. A row whose sum exceeds 10,000 is scaled down to it.

    Args:
        channels: width ``q`` of the states.
        pieces: number of pieces ``k``.
    """

    def __init__(self, channels: int, pieces: int) -> None:
        super().__init__()
        self.pieces = pieces
        self.scale = 1 / (pieces * channels)
        self.weight = nn.Parameter(torch.empty(pieces))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        nn.init.normal_(self.weight)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """``[*, n, m]`` from ``a [*, 1 or k, n, q]`` and ``b [*, 1 or k, m, q]``."""
        weight = self.weight.view(-1, 1, 1) * self.scale
        if a.size(-3) == 1 and b.size(-3) == 1:
            product = weight.sum() * a.squeeze(-3) @ b.squeeze(-3).mT
        elif b.size(-3) == 1:
            product = (weight * a).sum(-3) @ b.squeeze(-3).mT
        elif a.size(-3) == 1:
            product = a.squeeze(-3) @ (weight * b).sum(-3).mT
        else:
            product = torch.einsum("...snq,...smq->...nm", weight * a, b)
        with torch.no_grad():
            total = product.sum(-1, keepdim=True).abs()
            scale = torch.where(total > ROW_LIMIT, ROW_LIMIT / total, torch.ones_like(total))
        return scale * product


class Exchange(nn.Module):
    r"""Pseudo nodes share what they gathered, move by it, and make a message of it.

    .. math::
        \hat G = \psi(R, R)\,G, \qquad R' = \mathrm{LN}(R + \mathrm{NL}(\hat G)), \qquad P = \mathrm{NL}(\hat G)
    """

    def __init__(self, in_channels: int, out_channels: int, channels: int, pieces: int, dropout: float) -> None:
        super().__init__()
        self.channels, self.pieces = channels, pieces
        self.proximity = Proximity(channels, pieces)
        self.move = nonlinear(in_channels, channels * pieces, dropout)
        self.message = nonlinear(in_channels, out_channels, dropout)
        self.norm = nn.LayerNorm(channels)

    def forward(self, pseudo: Tensor, gathered: Tensor) -> tuple[Tensor, Tensor]:
        """``R' [B, k, p, q]`` and ``P [B, p, out]`` from ``R [*, 1 or k, p, q]`` and ``G [B, p, in]``."""
        shared = self.proximity(pseudo, pseudo) @ gathered
        moved = self.move(shared).view(*shared.shape[:2], self.channels, self.pieces).permute(0, 3, 1, 2)
        return self.norm(pseudo + moved), self.message(shared)


class Padded(NamedTuple):
    """Graphs padded to the size of the largest."""

    real: Tensor
    """Where a node is, ``[B, n, 1]``."""
    sizes: Tensor
    """Nodes of each graph, at least 1, ``[B, 1, 1]``."""
    adjacency: Weighted
    """Of the real nodes, one graph after the other."""

    def propagate(self, h: Tensor) -> Tensor:
        r""":math:`\hat A h`, ``[B, n, d]``."""
        there = self.real.squeeze(-1)
        return torch.zeros_like(h).masked_scatter(self.real, propagate(h[there], self.adjacency))


class Recursion(nn.Module):
    r"""One step of the states :math:`Q`, the messages :math:`M` and the pseudo nodes :math:`R`.

    .. math::
        R, P &= \mathrm{exchange}(R,\; \psi(R, Q) M / N), \qquad I = \psi(Q, R) P \\
        B &= \hat A [M \| I \| Q], \qquad \hat Q = \mathrm{LN}(Q + \mathrm{NL}(B)) \\
        R, P' &= \mathrm{exchange}(R,\; [\psi(R, \hat Q) B / N \,\|\, P]), \qquad U = \psi(\hat Q, R) P' \\
        M &= \mathrm{LN}(M + \mathrm{NL}(U)), \qquad Q = \mathrm{LN}(\hat Q + U)
    """

    def __init__(self, channels: int, message_channels: int, pieces: int, dropout: float) -> None:
        super().__init__()
        heard = 2 * message_channels + channels
        self.collect, self.inspect, self.collect_again, self.dispatch = (Proximity(channels, pieces) for _ in range(4))
        self.first_exchange = Exchange(message_channels, message_channels, channels, pieces, dropout)
        self.last_exchange = Exchange(heard + message_channels, channels, channels, pieces, dropout)
        self.hear = nonlinear(heard, channels, dropout)
        self.tell = nonlinear(channels, message_channels, dropout)
        self.heard_norm, self.state_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.message_norm = nn.LayerNorm(message_channels)

    def forward(self, state: Tensor, message: Tensor, pseudo: Tensor, graphs: Padded) -> tuple[Tensor, Tensor, Tensor]:
        """``Q [B, n, q]``, ``M [B, n, d]`` and ``R [B, k, p, q]``, padded nodes zero."""
        pieces = state.unsqueeze(1)
        gathered = self.collect(pseudo, pieces) @ message / graphs.sizes
        pseudo, answer = self.first_exchange(pseudo, gathered)
        inspected = self.inspect(pieces, pseudo) @ answer
        heard = graphs.propagate(torch.cat([message, inspected, state], dim=-1))
        state = graphs.real * self.heard_norm(state + self.hear(heard))
        pieces = state.unsqueeze(1)
        gathered = self.collect_again(pseudo, pieces) @ heard / graphs.sizes
        pseudo, answer = self.last_exchange(pseudo, torch.cat([gathered, answer], dim=-1))
        update = self.dispatch(pieces, pseudo) @ answer
        message = graphs.real * self.message_norm(message + self.tell(update))
        return graphs.real * self.state_norm(state + update), message, pseudo


class ClassProximity(nn.Module):
    """Logits: the proximity of an embedding to ``k`` learned pieces of each class."""

    def __init__(self, channels: int, out_channels: int, pieces: int) -> None:
        super().__init__()
        self.proximity = Proximity(channels, pieces)
        self.classes = nn.Parameter(torch.empty(pieces, out_channels, channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        nn.init.normal_(self.classes)
        self.proximity.reset_parameters()

    def forward(self, embedding: Tensor) -> Tensor:
        """``[rows, out_channels]`` from ``[rows, channels]``."""
        return self.proximity(embedding.unsqueeze(0), self.classes)


class N2(Model):
    """One :class:`Recursion`, applied ``num_steps`` times; nodes read their states, graphs the pseudo nodes.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width ``q`` of the states.
        message_channels: width ``d`` of the messages.
        num_steps: number of recursions ``T``.
        pieces: pieces ``k`` of a pseudo node.
        pseudo_nodes: number of pseudo nodes ``p``.
        edge_dim: width of the edge features, ``None`` without.
        dropout: share dropped after every nonlinearity.
    """

    mixes_whole_graphs = True

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 64,
        message_channels: Width = 128,
        num_steps: Depth = 5,
        pieces: Width = 8,
        pseudo_nodes: Width = 32,
        edge_dim: Width | None = None,
        dropout: Share = 0.1,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.num_steps = num_steps
        self.encoder = Encoder(in_channels, hidden_channels + message_channels)
        self.edge_encoder = (
            None if edge_dim is None else nn.Linear(edge_dim, hidden_channels + message_channels, bias=False)
        )
        self.activation = nn.Sequential(nn.LeakyReLU(), nn.Dropout(dropout))
        self.widths = [hidden_channels, message_channels]
        self.pseudo = nn.Parameter(torch.randn(1, 1, pseudo_nodes, hidden_channels))
        self.recursion = Recursion(hidden_channels, message_channels, pieces, dropout)
        self.readout = self.norm = None
        if task == "graph":
            self.readout = nonlinear(pseudo_nodes * pieces, 1, dropout)
            self.norm = nn.LayerNorm(hidden_channels)
        self.head = ClassProximity(hidden_channels, out_channels, pieces)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        nn.init.normal_(self.pseudo)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None, "it mixes whole graphs"
        edges = as_edge_index(edge_index, x.size(0), x.size(0))
        check_edge_features(edge_attr, self.edge_dim, edges.size(1), self.encoder.weight.dtype)
        batch, batch_size = graphs
        check_order(batch)
        encoded = self.encoder(x)
        if self.edge_encoder is not None:
            encoded = encoded + self.edge_encoder(scatter(edge_attr, edges[0], dim_size=len(x), reduce="sum"))
        state, message = self.activation(encoded).split(self.widths, dim=-1)
        size = int(torch.bincount(batch, minlength=1).max())
        (state, there), (message, _) = (to_dense_batch(h, batch, 0.0, size, batch_size) for h in (state, message))
        real = there.unsqueeze(-1)
        padded = Padded(real, real.sum(1, keepdim=True).clamp(min=1), normalised(edges, len(x), x.dtype))
        pseudo = self.pseudo
        for _ in range(self.num_steps):
            state, message, pseudo = self.recursion(state, message, pseudo, padded)
        if self.readout is None or self.norm is None:
            return state[there]
        return self.norm(self.readout(pseudo.permute(0, 3, 2, 1).flatten(2)).squeeze(-1))


def nonlinear(in_channels: int, out_channels: int, dropout: float) -> nn.Sequential:
    """``NL``: a linear map, LeakyReLU, dropout."""
    return nn.Sequential(nn.Linear(in_channels, out_channels), nn.LeakyReLU(), nn.Dropout(dropout))


MODELS = {
    "n2": ModelBuilder(
        "N2",
        "Sun et al., 2024",
        "PyG's `gcn_norm`, the rest ours; as the code where it and the paper differ",
        N2,
        options_of(N2),
    )
}
