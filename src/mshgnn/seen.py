"""Tensors as they were when something was made from them, to tell later whether that still fits."""

from __future__ import annotations

import os

import torch
from torch import Tensor

COMPARES = os.environ.get("MSHGNN_CHECK", "") == "1"
"""Whether contents are compared, too."""

State = tuple[int, int, torch.Size, tuple[int, ...]]


class Seen:
    """The state of some tensors: their count of changes, their memory, their shape.

    What torch does not count (``.data.copy_``, an alias in numpy or dlpack) is not seen. ``MSHGNN_CHECK=1`` compares
    the contents at every look.
    """

    def __init__(self, *tensors: Tensor) -> None:
        self._states = [_state(tensor) for tensor in tensors]
        # Held, so that no other memory gets the same address: ``tensor.data = other`` counts no change.
        self._memory = [tensor.detach() for tensor in tensors]
        self._contents = [tensor.clone() for tensor in tensors] if COMPARES else []

    def fits(self, *tensors: Tensor) -> bool:
        """Whether the same tensors, in the same order, are still as they were."""
        return self._states == [_state(tensor) for tensor in tensors] and all(map(torch.equal, self._contents, tensors))


def _state(tensor: Tensor) -> State:
    return tensor._version, tensor.data_ptr(), tensor.shape, tensor.stride()
