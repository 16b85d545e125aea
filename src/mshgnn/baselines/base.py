"""What all baselines share: how they are called, pooling, dropout of sparse features."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import dropout as dense_dropout
from torch_geometric.utils import scatter

Task = Literal["graph", "node"]
Readout = Literal["sum", "mean", "max"]
Share = Annotated[float, Field(ge=0, lt=1)]


class Baseline(nn.Module):
    """A model with a linear head: ``forward`` is the head applied to ``embed``.

    Inputs: features ``[N, in]`` (dense or sparse CSR), ``edge_index [2, M]``, ``batch [N]``.
    Output: logits ``[num_graphs, C]`` (task ``graph``) or ``[N, C]`` (task ``node``).
    ``edge_attr`` is accepted so that all models are called alike; the baselines do not use it.
    """

    head: nn.Module

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """What the head sees: ``[num_graphs, D]`` or ``[N, D]``."""
        raise NotImplementedError

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
        logits: Tensor = self.head(self.embed(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size))
        return logits


def pool(h: Tensor, batch: Tensor | None, batch_size: int | None, readout: Readout) -> Tensor:
    """Sum, mean or maximum over each graph's nodes, zeros without any: ``[N, d] -> [num_graphs, d]``."""
    if batch is None:
        batch, batch_size = torch.zeros(h.size(0), dtype=torch.long, device=h.device), 1
    if batch_size is None:
        batch_size = int(batch.max()) + 1 if batch.numel() else 0
    pooled: Tensor = scatter(h, batch, dim=0, dim_size=batch_size, reduce=readout)
    return pooled


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """Dropout of dense or sparse CSR features."""
    if x.layout == torch.strided or not training or share == 0:
        return dense_dropout(x, share, training)
    values = dense_dropout(x.values(), share, training)
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)
