"""When autograd functions of our own may stand in for plain torch, and how their gradients are differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from mshgnn.ops.graph import is_traced


def is_eager(tensor: Tensor) -> bool:
    """Whether torch runs operators one by one on real tensors: no compiler, no trace, no transform, no tangents."""
    return (
        type(tensor) in (Tensor, torch.nn.Parameter)
        and not torch.compiler.is_compiling()
        and not is_traced()
        and not torch._C._are_functorch_transforms_active()
        and torch.autograd.forward_ad._current_level < 0
    )


def gradients_with_graph(
    plain: Callable[..., Tensor], inputs: Sequence[Tensor | None], needs: Sequence[bool], gradient: Tensor
) -> list[Tensor | None]:
    """Gradients of ``plain(*inputs)`` that can be differentiated again, for ``create_graph=True``."""
    # A view of each input: the same tensor may stand in two places, and each has its own gradient.
    own = [None if tensor is None else tensor.view_as(tensor) for tensor in inputs]
    wanted = [tensor for tensor, needed in zip(own, needs, strict=True) if needed and tensor is not None]
    found = iter(
        torch.autograd.grad(plain(*own), wanted, gradient, create_graph=True, materialize_grads=True) if wanted else ()
    )
    return [next(found) if needed and tensor is not None else None for tensor, needed in zip(own, needs, strict=True)]


def without_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    """No autocast on the tensor's device; nothing at all where there is none, for entering costs microseconds."""
    device = tensor.device.type
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
