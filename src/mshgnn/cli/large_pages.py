"""Large pages for every command that computes."""

from __future__ import annotations

import os

VARIABLE = "THP_MEM_ALLOC_ENABLE"  # of torch


def ask_for_large_pages() -> None:
    """Have torch ask the system for large pages behind large tensors, in this process and those that it starts.

    The system clears every page that a process touches first, and 2 MB at once cost it far less than 512 small pages.
    Torch reads its variable at its first tensor, so this comes before any import of it. A user's own setting stays.
    """
    os.environ.setdefault(VARIABLE, "1")
