"""Which backend runs: one switch, an environment override, and a way to see what ran."""

from __future__ import annotations

import os
from typing import Literal, get_args

from mshgnn.errors import UserError

Backend = Literal["auto", "reference", "fused"]


class _Switch:
    def __init__(self) -> None:
        self.choice: Backend = _checked(os.environ.get("MSHGNN_BACKEND", "auto"), "MSHGNN_BACKEND")
        self.last: str | None = None


def _checked(name: str, source: str) -> Backend:
    for known in get_args(Backend):
        if name == known:
            return known
    raise UserError(f"{source} must be one of {', '.join(get_args(Backend))}, got {name!r}")


_switch = _Switch()


def set_backend(name: str) -> None:
    """Choose the backend of :func:`mshgnn.ops.harmonic_aggregate`.

    ``"auto"`` takes the fused CPU kernels where they apply and the reference elsewhere, ``"reference"`` always the
    reference, ``"fused"`` insists on the kernels and raises where they do not apply. The environment variable
    ``MSHGNN_BACKEND`` sets the choice at import.
    """
    _switch.choice = _checked(name, "backend")


def get_backend() -> Backend:
    """The choice in force."""
    return _switch.choice


def last_backend() -> str | None:
    """The backend that ran last: ``"reference"``, ``"fused"``, or ``None`` before the first call."""
    return _switch.last


def record_backend(name: str) -> None:
    """Remember which backend ran."""
    _switch.last = name
