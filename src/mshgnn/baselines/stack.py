"""Convolutions one after another: the form most papers give their own model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mshgnn.baselines.base import Baseline, dropout, pool


class ConvStack(Baseline):
    """Dropout, convolution, norm, activation, again and again; a graph is the mean of its last node states.

    Without a head the last convolution gives the logits of a node task; ``embed`` is then what that
    convolution sees.

    Args:
        convs: the convolutions, called as ``conv(h, edge_index)``.
        head: the linear head, ``None`` when the last convolution gives the logits.
        pooled: average over the nodes of every graph before the head.
        activation: after every convolution but one that gives the logits.
        dropout: share dropped before every convolution.
        norms: one a convolution that has an activation.
        sparse_input: whether the first convolution begins with a linear map and so takes sparse features.
    """

    def __init__(
        self,
        convs: Sequence[nn.Module],
        head: nn.Linear | None,
        *,
        pooled: bool,
        activation: Callable[[Tensor], Tensor],
        dropout: float,
        norms: Sequence[nn.Module] = (),
        sparse_input: bool = True,
    ) -> None:
        super().__init__()
        hidden = list(convs) if head is not None else list(convs[:-1])
        self.convs = nn.ModuleList(hidden)
        self.norms = nn.ModuleList(norms or [nn.Identity() for _ in hidden])
        self.last_conv = None if head is not None else convs[-1]
        self.head = nn.Identity() if head is None else head
        self.pooled = pooled
        self.activation = activation
        self.dropout = dropout
        self.sparse_input = sparse_input

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The last node states ``[N, d]``, averaged over each graph ``[num_graphs, d]`` when pooled."""
        h = x if self.sparse_input or x.layout == torch.strided else x.to_dense()
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = self.activation(norm(conv(dropout(h, self.dropout, self.training), edge_index)))
        return pool(h, batch, batch_size, "mean") if self.pooled else h

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits ``[num_graphs, C]`` or ``[N, C]``."""
        h = self.embed(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size)
        if self.last_conv is not None:
            h = self.last_conv(dropout(h, self.dropout, self.training), edge_index)
        logits: Tensor = self.head(h)
        return logits
