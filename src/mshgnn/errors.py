"""Mistakes of a user and failures of a machine. The command line shows these alone as one line without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

LONGEST_LINE = 1_000
MOST_CHOICES = 1_000
"""So many words are compared with a wrong one; a damaged header may have millions, which would take minutes."""


class UserError(ValueError):
    """Something the user can put right: a wrong argument, option, file or folder. The message is one line.

    A name or value out of a damaged file may be as long as the file: a line that is too long loses its middle.
    """

    def __str__(self) -> str:
        return "\n".join(map(_shortened, super().__str__().split("\n")))


class Failure(RuntimeError):
    """What ended early through no mistake in what was asked for: a lost process, a full disk. The message is one line.

    What was finished is kept, and the same command goes on.
    """


def _shortened(line: str) -> str:
    half = LONGEST_LINE // 2 - 2
    return line if len(line) <= LONGEST_LINE else f"{line[:half]} … {line[-half:]}"


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """``; did you mean 'x'?`` with the nearest valid word, or the list of valid words."""
    choices = sorted(islice(valid, MOST_CHOICES))
    close = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(choices)}"
