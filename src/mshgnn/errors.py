"""Mistakes a user can make. The command line shows these, and only these, as one line without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Something the user can put right: a wrong argument, option, file or folder. The message is one line."""


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """``; did you mean 'x'?`` with the nearest valid word, or the list of valid words."""
    choices = sorted(valid)
    close = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(choices)}"
