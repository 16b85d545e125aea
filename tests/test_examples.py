"""The examples run and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_the_drop_in_layer_sees_agreement_where_the_others_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(EXAMPLES / "drop_in_layer.py"))["main"]()
    assert found["MSHConv"] > 0.75
    assert max(found["GCNConv"], found["GATv2Conv"]) < 0.7
    assert "MSHConv" in capsys.readouterr().out


def test_own_graphs_are_read_and_learnt() -> None:
    assert runpy.run_path(str(EXAMPLES / "own_graphs.py"))["main"]() == 1.0
