"""The command line, called in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from mshgnn.cli import main

Cli = Callable[..., tuple[int, str, str]]
"""Runs a command; returns exit code, output and errors."""


def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Cli:
    """``mshgnn``, then ``words``, then what it is called with."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mshgnn", *words, *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        seen = capsys.readouterr()
        return int(caught.value.code or 0), seen.out, seen.err

    return call
