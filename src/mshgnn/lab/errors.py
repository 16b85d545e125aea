"""Mistakes a user can make in the lab: one clear line each."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class LabError(ValueError):
    """Something the user can put right: a wrong file, key, value or folder."""


class ExperimentError(LabError):
    """An experiment file that cannot be run as it is written."""


class StoreError(LabError):
    """A run folder that cannot be read, written or continued."""


class NothingFinished(StoreError):
    """A run that has no finished fold yet."""


def nearest(word: str, valid: Iterable[str]) -> str:
    """``; did you mean 'x'?`` with the nearest valid word, or the list of valid words."""
    choices = sorted(valid)
    close = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(choices)}"
