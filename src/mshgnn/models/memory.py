"""What is quadratic in the nodes, or worse, says how much memory it needs before it asks for it."""

from __future__ import annotations

import os

from mshgnn.errors import UserError

VARIABLE = "MSHGNN_MEMORY"
LIMIT = 16 * 10**9
"""Bytes that one model may ask for at once, unless ``MSHGNN_MEMORY`` says otherwise."""


def check_memory(what: str, num_bytes: int) -> None:
    """Refuse to allocate more bytes than the limit; ``what`` names the tensors and the sizes behind them."""
    stated = os.environ.get(VARIABLE)
    try:
        limit = LIMIT if stated is None else int(float(stated))
    except (ValueError, OverflowError):
        raise UserError(f"{VARIABLE} must be a number of bytes, got {stated!r}") from None
    if num_bytes > limit:
        raise UserError(
            f"{what} needs {num_bytes / 1e9:,.1f} GB of memory, more than the limit of {limit / 1e9:,.1f} GB; "
            f"if the machine has it, {VARIABLE}={num_bytes:.0e} raises the limit"
        )
