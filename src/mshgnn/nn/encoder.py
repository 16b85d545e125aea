"""The linear encoder of the input features, dense or sparse."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mshgnn.errors import UserError
from mshgnn.seen import Seen


def as_dense(x: Tensor) -> Tensor:
    """Features that may be sparse, as a plain tensor."""
    return x if x.layout == torch.strided else x.to_dense()


class Encoder(nn.Linear):
    """A linear map of the input features, dense, sparse CSR or sparse COO: ``[N, in] -> [N, out]``.

    The gradient of the weight needs the transposed features. Torch would transpose a sparse matrix anew in
    every step, 15 times the cost of the product itself; here it is done once for a matrix seen again, and
    anew when its values have changed. Sparse features are given, not learned: they get no gradient.
    """

    _transposed: tuple[Tensor, Seen, Tensor] | None = None
    """The features last seen, the state they were in, and their transpose."""

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
        weight = self.weight.t()
        product: Tensor
        if torch.is_grad_enabled():
            product = _SparseProduct.apply(input, self._transpose_of(input), weight)  # type: ignore[no-untyped-call]
        else:
            product = torch.mm(input, weight)
        return product if self.bias is None else product + self.bias

    def _transpose_of(self, input: Tensor) -> Tensor:
        if input.is_inference():  # its changes are not counted
            return input.t().to_sparse_csr()
        known = self._transposed  # read once: another thread may write it between two looks
        parts = input.crow_indices(), input.col_indices(), input.values()
        if known is None or known[0] is not input or not known[1].fits(*parts):
            known = self._transposed = (input, Seen(*parts), input.t().to_sparse_csr())
        return known[2]

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
