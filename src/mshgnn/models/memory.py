"""A limit on what a model may allocate, checked before it does: an error that names the bytes, not a killed process."""

from __future__ import annotations

import math
import os

from mshgnn.errors import UserError

VARIABLE = "MSHGNN_MEMORY"
DEFAULT_GIGABYTES = 16.0


def check_memory(what: str, bytes: int) -> None:
    """Refuse ``what`` if its ``bytes`` are above ``MSHGNN_MEMORY`` gigabytes, 16 unless the environment says."""
    limit = memory_limit()
    if bytes > limit:
        raise UserError(
            f"{what} needs about {bytes / 1e9:,.1f} GB, above the limit of {limit / 1e9:,.1f} GB; "
            f"use smaller graphs or batches, or set {VARIABLE} to more gigabytes"
        )


def memory_limit() -> int:
    """The limit in bytes."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return int(DEFAULT_GIGABYTES * 1e9)
    try:
        gigabytes = float(given)
    except ValueError:
        gigabytes = math.nan
    if not 0 < gigabytes < math.inf:
        raise UserError(f"{VARIABLE} must be a positive number of gigabytes, got {given!r}")
    return int(gigabytes * 1e9)
