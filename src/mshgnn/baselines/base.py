"""What all baselines share: how they are called, the encoder, pooling, dropout of sparse features."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import dropout as dense_dropout
from torch_geometric.nn.norm import BatchNorm
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


class Encoder(nn.Linear):
    """A linear map of the input features, dense or sparse CSR ``[N, in] -> [N, out]``.

    The gradient of the weight needs the transposed features. Torch would transpose a sparse matrix anew in
    every step, 15 times the cost of the product itself; here it is done once for a matrix seen again.
    """

    _transposed: tuple[Tensor, Tensor] | None = None

    def forward(self, input: Tensor) -> Tensor:
        """``x W^T + b``."""
        if input.layout == torch.strided:
            return super().forward(input)
        if self._transposed is None or self._transposed[0] is not input:
            self._transposed = (input, input.t().to_sparse_csr())
        product: Tensor = _SparseProduct.apply(*self._transposed, self.weight.t())  # type: ignore[no-untyped-call]
        return product if self.bias is None else product + self.bias

    def __getstate__(self) -> dict[str, object]:
        """What copies and pickles hold: not the features seen, which torch could not copy either."""
        return {name: value for name, value in self.__dict__.items() if name != "_transposed"}


class _SparseProduct(torch.autograd.Function):
    """``A B`` for a constant sparse ``A``, with ``A^T`` at hand for the gradient of ``B``."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, a: Tensor, a_t: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a_t)
        return torch.mm(a, b)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> tuple[None, None, Tensor]:
        (a_t,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return None, None, torch.mm(a_t, grads[0])


def batch_norm(channels: int) -> nn.Module:
    """Batch norm that lets a batch of one node, or of none, pass with the running statistics."""
    norm: nn.Module = BatchNorm(channels, allow_single_element=True)
    return norm


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
