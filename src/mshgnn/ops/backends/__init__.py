"""The backends of the harmonic sum, in the order in which they are tried, and the switch between them.

A backend is a module with ``NAME``, ``obstacle(inputs)`` (why it does not apply, or ``None``) and
``aggregate(inputs)``. Adding one is one file and its name in ``BACKENDS``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops.backends import cpu, reference, triton
from mshgnn.ops.inputs import Inputs

AUTO = "auto"


class Backend(Protocol):
    """What every backend module has."""

    NAME: str

    def obstacle(self, inputs: Inputs) -> str | None:
        """Why the backend does not apply, or ``None`` where it does."""

    def aggregate(self, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
        """``S`` and ``G`` of :func:`mshgnn.ops.harmonic_aggregate`."""


BACKENDS: Sequence[Backend] = (cpu, triton, reference)


class _Switch:
    def __init__(self) -> None:
        self.choice = _checked(os.environ.get("MSHGNN_BACKEND", AUTO), "MSHGNN_BACKEND")
        self.last: str | None = None


def _checked(name: str, source: str) -> str:
    known = [AUTO, *(backend.NAME for backend in BACKENDS)]
    if name not in known:
        raise UserError(f"{source} must be one of {', '.join(known)}, got {name!r}")
    return name


_switch = _Switch()


def set_backend(name: str) -> None:
    """Choose the backend of :func:`mshgnn.ops.harmonic_aggregate`.

    ``"auto"`` takes the first that applies: ``"fused"`` (CPU kernels), ``"triton"`` (GPU kernels, factored phases),
    then ``"reference"`` (plain torch). A backend's own name insists on it and raises where it does not apply. The
    environment variable ``MSHGNN_BACKEND`` sets the choice at import.
    """
    _switch.choice = _checked(name, "backend")


def get_backend() -> str:
    """The choice in force."""
    return _switch.choice


def last_backend() -> str | None:
    """The backend that ran last, or ``None`` before the first call."""
    return _switch.last


def choose(inputs: Inputs) -> Backend:
    """The backend for these inputs."""
    for backend in BACKENDS:
        if _switch.choice not in (AUTO, backend.NAME):
            continue
        reason = backend.obstacle(inputs)
        if reason is None:
            if not torch.compiler.is_compiling():
                _switch.last = backend.NAME
            return backend
        if _switch.choice != AUTO:
            raise UserError(f"the {backend.NAME} backend does not apply: {reason}")
    raise AssertionError("the reference backend applies everywhere")
