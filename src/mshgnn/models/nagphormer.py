r"""NAGphormer: a node is a sequence of what its hops hold (Chen et al., 2023).

The hops :math:`\hat A^k X` are what PyG's ``SIGN`` gives after ``AddRemainingSelfLoops``. Dense features are propagated
once for a graph and kept; sparse ones stay sparse, for projecting first and propagating then gives the same tokens. The
authors' eigenvectors are the data set's: add ``lappe`` to the features. The authors train on batches of 2,000 nodes,
here all nodes of the graph are one batch, and weights start as torch has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from mshgnn.models.attention import TransformerBlock
from mshgnn.models.builder import ModelBuilder
from mshgnn.models.memory import check_memory
from mshgnn.models.propagation import hops, normalised
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.seen import Seen


class _Last(NamedTuple):
    x: Tensor
    edge_index: Tensor
    state: Seen
    hops: Tensor


class HopFeatures:
    """``[N, K + 1, F]`` of the graph last seen; computed again when features or edges are others or have changed."""

    def __init__(self, num_hops: int) -> None:
        self.num_hops = num_hops
        self._last: _Last | None = None

    def __call__(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The hops of dense features ``[N, F]``."""
        # What is made in inference mode counts no changes, and what is learned changes in every step.
        if x.requires_grad or x.is_inference() or edge_index.is_inference() or torch.is_inference_mode_enabled():
            return self._compute(x, edge_index)
        last = self._last
        if last is None or last.x is not x or last.edge_index is not edge_index or not last.state.fits(x, edge_index):
            last = self._last = _Last(x, edge_index, Seen(x, edge_index), self._compute(x, edge_index))
        return last.hops

    def _compute(self, x: Tensor, edge_index: Tensor) -> Tensor:
        check_memory(
            f"hop features of {len(x):,} nodes, {self.num_hops + 1} hops and {x.size(1):,} columns",
            x.element_size() * x.numel() * (self.num_hops + 1),
        )
        return stacked(hops(x, normalised(edge_index, len(x), x.dtype), self.num_hops))

    def __getstate__(self) -> dict[str, object]:
        """What copies and pickles hold: not the graph last seen."""
        return {"num_hops": self.num_hops, "_last": None}


def stacked(rows: Iterable[Tensor]) -> Tensor:
    """``K + 1`` tensors ``[N, d]`` as ``[N, K + 1, d]``."""
    return torch.stack(list(rows), dim=1)


class NAGphormer(Model):
    r"""A transformer over the hops of each node; nodes meet in the hops alone.

    .. math::
        z^k = W (\hat A^k x)_v + b, \qquad z \leftarrow \mathrm{LN}(\mathrm{blocks}(z)), \qquad
        \alpha_k = \operatorname{softmax}_{k \geq 1}(w \cdot [z^0 \| z^k] + c), \qquad
        u = z^0 + \sum_{k \geq 1} \alpha_k z^k

    The head is :math:`d \to d/2 \to C` with ReLU between.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"node"``.
        hidden_channels: width of the tokens.
        num_hops: the farthest hop ``K``; 0 reads the node alone.
        num_layers: number of blocks.
        heads: heads of the attention; they share the width.
        dropout: share dropped of what a block adds.
        attention_dropout: share of the attention weights dropped.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 128,
        num_hops: Annotated[int, Between(0, 1_000)] = 3,
        num_layers: Depth = 1,
        heads: Width = 8,
        dropout: Share = 0.1,
        attention_dropout: Share = 0.1,
    ) -> None:
        super().__init__(in_channels, task)
        self.hop_features = HopFeatures(num_hops)
        self.encoder = Encoder(in_channels, hidden_channels)
        self.blocks = nn.ModuleList(
            TransformerBlock(hidden_channels, heads, 2 * hidden_channels, dropout, attention_dropout)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels)
        self.score = nn.Linear(2 * hidden_channels, 1) if num_hops else None
        half = max(hidden_channels // 2, 1)
        self.head = nn.Sequential(nn.Linear(hidden_channels, half), nn.ReLU(), nn.Linear(half, out_channels))

    def _tokens(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """``[N, K + 1, d]``."""
        if x.layout == torch.strided:
            return self.encoder(self.hop_features(x, edge_index))
        # The bias comes after the propagation, which would change it.
        adjacency = normalised(edge_index, len(x), x.dtype)
        projected = self.encoder(x) - self.encoder.bias
        return stacked(hops(projected, adjacency, self.hop_features.num_hops)) + self.encoder.bias

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        z = self._tokens(x, edge_index)
        for block in self.blocks:
            z = block(z)
        z = self.norm(z)
        own, others = z[:, 0], z[:, 1:]
        if self.score is None:
            return own
        both = torch.cat([own.unsqueeze(1).expand_as(others), others], dim=-1)
        return own + (self.score(both).softmax(dim=1) * others).sum(1)


MODELS = {
    "nagphormer": ModelBuilder(
        "NAGphormer",
        "Chen et al., 2023",
        "ours; all nodes are one batch, theirs has 2,000",
        NAGphormer,
        options_of(NAGphormer),
        tasks=("node",),
    )
}
