"""The linear encoder of the input features, dense or sparse."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mshgnn.errors import UserError


def as_dense(x: Tensor) -> Tensor:
    """Features that may be sparse, as a plain tensor."""
    return x if x.layout == torch.strided else x.to_dense()


class Encoder(nn.Linear):
    """A linear map of the input features, dense, sparse CSR or sparse COO: ``[N, in] -> [N, out]``.

    The gradient of the weight needs the transposed features. Torch would transpose a sparse matrix anew in
    every step, 15 times the cost of the product itself; here it is done once for a matrix seen again, and
    anew when its values have changed. Sparse features are given, not learned: they get no gradient.
    """

    _transposed: tuple[Tensor, int | None, Tensor] | None = None
    """The features last seen, the count of changes of their values, and their transpose."""

    def forward(self, input: Tensor) -> Tensor:
        """``x W^T + b``."""
        if input.layout == torch.strided:
            return super().forward(input)
        if input.layout == torch.sparse_coo:
            input = input.to_sparse_csr()
        if input.layout != torch.sparse_csr:
            raise UserError(f"x must be dense, sparse CSR or sparse COO, got {input.layout}")
        if input.requires_grad:
            raise UserError("x is sparse and requires a gradient, which only dense features get")
        changes = None if input.is_inference() else input._version
        seen = self._transposed  # read once: another thread may write it between two looks
        if seen is None or seen[0] is not input or seen[1] != changes:
            seen = self._transposed = (input, changes, input.t().to_sparse_csr())
        product: Tensor = _SparseProduct.apply(input, seen[2], self.weight.t())  # type: ignore[no-untyped-call]
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
