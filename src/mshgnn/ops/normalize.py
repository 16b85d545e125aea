"""Layer norm that hands on what it removes: one function, in plain torch and fused for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mshgnn.ops.backends import get_backend, reference
from mshgnn.ops.backends.cpu.norm_kernels import (
    normalize_rows,
    normalize_rows_backward,
    standardize,
    standardize_backward,
)
from mshgnn.ops.backends.cpu.threads import run_chunks
from mshgnn.ops.eager import gradients_with_graph, is_eager

EPSILON = 1e-5
ROWS_PER_CHUNK = 4096


Standardize = Callable[[Tensor, float], tuple[Tensor, Tensor, Tensor, int]]
"""From rows ``[N, 2]`` and an epsilon to standardised rows, the mean and the variance used, and how many rows count."""


def open_norm(
    x: Tensor, mean: Tensor | None = None, variance: Tensor | None = None, *, over_all: Standardize | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Layer norm of each row, followed by the two numbers it removed, standardised over the rows.

    .. math::
        \Big[\, \frac{x_v - \mu_v}{\sqrt{\sigma_v^2 + \epsilon}} \;\Big|\; \frac{z_v - m}{\sqrt{s + \epsilon}} \,\Big],
        \qquad z_v = (\mu_v,\, \log(\sigma_v^2 + \epsilon))

    ``m`` and ``s`` are mean and variance of ``z`` over the rows, or ``mean`` and ``variance`` where they are given;
    ``over_all`` standardises ``z`` over more rows than these, those of all workers.
    Layer norm alone is blind to the scale of a node, and at width one to everything.

    Shapes: ``x [N, d]``, ``mean [2]``, ``variance [2]``.

    Returns:
        The features ``[N, d + 2]``, ``m`` and ``s``; the last two have no gradient, nor have ``mean`` and ``variance``.
    """
    mean, variance = (None if given is None else given.detach() for given in (mean, variance))
    if over_all is not None:
        return _plain(x, mean, variance, over_all)
    # Whether torch compiles comes first: a compiled layer must not depend on the number of rows.
    kernels_apply = x.device.type == "cpu" and x.dtype == torch.float32 and get_backend() != reference.NAME
    if kernels_apply and is_eager(x) and len(x) > 0:
        return _Fused.apply(x, mean, variance)  # type: ignore[no-untyped-call]
    return _plain(x, mean, variance)


def _plain(
    x: Tensor, mean: Tensor | None, variance: Tensor | None, over_all: Standardize | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    row_mean = x.mean(1, keepdim=True)
    shifted = x - row_mean
    row_variance = shifted.square().mean(1, keepdim=True) + EPSILON
    removed = torch.cat([row_mean, row_variance.log()], dim=1)
    if over_all is not None:
        scaled, mean, variance, _ = over_all(removed, EPSILON)
    else:
        if mean is None or variance is None:
            mean, variance = removed.mean(0), removed.var(0, unbiased=False)
        scaled = (removed - mean) * (variance + EPSILON).rsqrt()
    return torch.cat([shifted * row_variance.rsqrt(), scaled], dim=1), mean.detach(), variance.detach()


class _Fused(torch.autograd.Function):
    """One pass over the rows forward, one backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Tensor | None, variance: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        rows, width = x.shape
        features, removed = torch.empty(rows, width + 2), np.empty((rows, 2), np.float32)
        inverse = np.empty(rows, np.float32)
        arguments = x.detach().contiguous().numpy(), features.numpy(), removed, inverse
        _by_rows(rows, lambda low, high: normalize_rows(low, high, EPSILON, *arguments))
        ctx.over_rows = mean is None or variance is None
        # Buffers that a later training step moves must not move under the backward pass: it has copies.
        if mean is None or variance is None:
            mean, variance = torch.empty(2), torch.empty(2)
        else:
            mean, variance = mean.clone(), variance.clone()
        standardize(removed, width, arguments[1], mean.numpy(), variance.numpy(), EPSILON, ctx.over_rows)
        ctx.save_for_backward(x, features)
        ctx.inverse, ctx.used = inverse, (mean, variance)
        ctx.mark_non_differentiable(mean, variance)
        return features, mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, None]:
        x, features = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: the gradient must itself have one
            given = (None, None) if ctx.over_rows else ctx.used
            (found,) = gradients_with_graph(lambda own: _plain(own, *given)[0], [x], [True], gradients[0])
            return found, None, None
        rows, width = x.shape
        gradient, known = gradients[0].contiguous().numpy(), features.numpy()
        d_removed = np.empty((rows, 2), np.float32)
        standardize_backward(gradient, known, width, ctx.used[1].numpy(), EPSILON, ctx.over_rows, d_removed)
        result = torch.empty(rows, width)
        arguments = gradient, d_removed, known, ctx.inverse, result.numpy()
        _by_rows(rows, lambda low, high: normalize_rows_backward(low, high, *arguments))
        return result, None, None


def _by_rows(rows: int, work: Any) -> None:
    """Work on ranges of rows, side by side; the ranges do not depend on the threads."""
    run_chunks(
        lambda chunk: work(chunk * ROWS_PER_CHUNK, min((chunk + 1) * ROWS_PER_CHUNK, rows)),
        -(-rows // ROWS_PER_CHUNK),
    )
