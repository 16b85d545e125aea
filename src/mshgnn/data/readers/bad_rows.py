"""Rows of a file that cannot be read: the first ends the reading, or each is left out with its reason."""

from __future__ import annotations

from typing import Literal

from mshgnn.data.dataset import DataError


class BadRows(dict[int, str]):
    """Row numbers with their reasons.

    Args:
        on_error: ``stop`` refuses the first row that is added, ``skip`` keeps them all.
    """

    def __init__(self, on_error: Literal["stop", "skip"]) -> None:
        super().__init__()
        self.on_error = on_error

    def add(self, row: int, reason: str) -> None:
        """A row that cannot be read; the first reason of a row stays."""
        if self.on_error == "stop":
            raise DataError(reason)
        self.setdefault(row, reason)
