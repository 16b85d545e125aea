"""Batch statistics and dropout over the rows of all workers, so that a piece of a batch is treated as in the whole.

The rows of the workers, one after another, are the rows of the batch. Batch norm takes mean and variance of them all,
forward and backward; dropout draws the mask of them all and takes its own part of it. torch's ``SyncBatchNorm`` does
the first on graphics cards alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.nn.norm import BatchNorm

from mshgnn.errors import UserError
from mshgnn.training.parallel import Workers


class Standardized(NamedTuple):
    """Rows ``[n, C]`` of mean 0 and variance 1 over all workers; mean and variance ``[C]`` have no gradient."""

    rows: Tensor
    mean: Tensor
    variance: Tensor
    total: int
    """Rows of all workers."""


Standardize = Callable[[Tensor, float], Standardized]


@runtime_checkable
class TakesStatistics(Protocol):
    """A module of ours that standardises rows in training: by ``over_all`` where it is set."""

    over_all: Standardize | None


@contextmanager
def rows_shared(model: nn.Module, workers: Workers) -> Iterator[None]:
    """Within it a training model treats its rows as part of those of all workers. Alone nothing changes."""
    changed: list[nn.Module] = []
    joining: list[TakesStatistics] = []
    if workers.are_several:
        for module in model.modules():
            if isinstance(module, TakesStatistics):
                module.over_all = partial(standardize, workers=workers)
                joining.append(module)
            elif (forward := _forward_over_all(module, workers)) is not None:
                module.forward = forward
                changed.append(module)
    try:
        yield
    finally:
        for module in changed:
            del module.forward
        for own in joining:
            own.over_all = None


def standardize(rows: Tensor, epsilon: float, *, workers: Workers) -> Standardized:
    """Subtract the mean over all workers' rows and divide by the deviation ``sqrt(variance + epsilon)``."""
    return Standardized(*_Standardize.apply(rows, epsilon, workers))  # type: ignore[no-untyped-call]


class _Standardize(torch.autograd.Function):
    r""":math:`\hat x = (x - m)/\sqrt{s + \epsilon}` and :math:`\partial x = (g - \overline g - \hat x\,\overline{g
    \hat x})/\sqrt{s + \epsilon}`, all means over the rows of all workers: one meeting each way.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, epsilon: float, workers: Workers) -> tuple[Tensor, Tensor, Tensor, int]:
        own_variance, own_mean = torch.var_mean(rows, dim=0, correction=0)
        own_count = torch.full_like(own_mean, rows.size(0), dtype=torch.float64)
        own = torch.stack([own_mean.double(), own_variance.double(), own_count]).nan_to_num()  # no rows: no mean
        means, variances, counts = workers.gather(own).unbind(1)
        total = counts[:, 0].sum()
        mean = (counts * means).sum(0) / total
        variance = (counts * (variances + (means - mean).square())).sum(0) / total
        scale = (variance + epsilon).rsqrt().to(rows.dtype)
        mean, variance = mean.to(rows.dtype), variance.to(rows.dtype)
        made = (rows - mean) * scale
        ctx.save_for_backward(made, scale)
        ctx.workers, ctx.total = workers, total.to(rows.dtype)
        ctx.mark_non_differentiable(mean, variance)
        return made, mean, variance, int(total)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        made, scale = ctx.saved_tensors
        gradient = gradients[0]
        sums = torch.stack([gradient.sum(0), (gradient * made).sum(0)])
        mean, along = (ctx.workers.sum(sums) / ctx.total).unbind(0)
        return (gradient - mean - made * along) * scale, None, None


def _forward_over_all(module: nn.Module, workers: Workers) -> Callable[[Tensor], Tensor] | None:
    """What replaces a module's forward pass, ``None`` where it treats rows one by one or graph by graph."""
    if isinstance(module, BatchNorm):  # PyG's shell: it looks at the number of own rows, which does not matter here
        return lambda x: module.module(x)
    if isinstance(module, nn.BatchNorm1d):
        return partial(_batch_norm, module, workers)
    if isinstance(module, _BatchNorm):
        raise UserError(f"{type(module).__name__}: its statistics cannot be shared among workers; train in one process")
    if type(module) is nn.Dropout:
        return partial(_dropout, module, workers)
    return None


def _batch_norm(module: nn.BatchNorm1d, workers: Workers, x: Tensor) -> Tensor:
    """As torch's: biased variance to normalise, unbiased for the running one; a single row passes by the latter."""
    if not module.training or x.dim() != 2 or module.running_mean is None or module.running_var is None:
        if module.training:
            raise UserError("BatchNorm1d: workers share statistics of rows [n, C] that are tracked; use one process")
        return nn.BatchNorm1d.forward(module, x)
    made = standardize(x, module.eps, workers=workers)
    if made.total < 2:
        return F.batch_norm(x, module.running_mean, module.running_var, module.weight, module.bias, eps=module.eps)
    if module.num_batches_tracked is not None:
        module.num_batches_tracked.add_(1)
    share = 1.0 / float(module.num_batches_tracked or 1) if module.momentum is None else module.momentum
    with torch.no_grad():
        module.running_mean.lerp_(made.mean, share)
        module.running_var.lerp_(made.variance * (made.total / (made.total - 1)), share)
    return made.rows if module.weight is None else torch.addcmul(module.bias, made.rows, module.weight)


def _dropout(module: nn.Dropout, workers: Workers, x: Tensor) -> Tensor:
    """The mask of the whole batch, as torch draws it on the processor, and of it the own rows."""
    if not module.training or module.p == 0.0:
        return x
    counts = workers.gather(torch.tensor(x.size(0))).tolist()
    mask = x.new_empty(sum(counts), *x.shape[1:]).bernoulli_(1 - module.p).div_(1 - module.p)
    start = sum(counts[: workers.rank])
    return x * mask[start : start + x.size(0)]
