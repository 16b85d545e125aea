"""``mshgnn report`` and ``mshgnn plot`` as a user types them."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from mshgnn.cli import main

RESULTS = Path(__file__).resolve().parents[2] / "results" / "graph" / "MUTAG"


def called(*arguments: str) -> int:
    """Run a command; its exit code."""
    with patch.object(sys, "argv", ["mshgnn", *arguments]), pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test writes into its own folder."""
    monkeypatch.chdir(tmp_path)


def test_records_become_a_page_with_the_first_one_against_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    first = str(RESULTS / "msh-stable.json.gz")
    assert called("report", first, str(RESULTS), "--out", "page.html") == 0
    assert capsys.readouterr().out.startswith("wrote page.html")
    page = Path("page.html").read_text()
    assert "msh-stable minus others" in page
    assert "a run keeps curves, not predictions" in page
    assert page.count(">msh-stable</p>") == 1  # named twice, shown once


def test_a_figure_is_drawn_into_a_file() -> None:
    assert called("plot", str(RESULTS / "gin.json.gz"), "--figure", "rules", "--out", "rules.svg") == 0
    assert "<svg" in Path("rules.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "nowhere: there is no such file or folder"),
        (["report", "."], "neither a trained model, nor a run, nor a folder of records"),
        (
            ["report", str(RESULTS / "gin.json.gz"), "--data", "new.csv"],
            "--data: only a model",
        ),
        (["report", str(RESULTS / "gin.json.gz"), "--out", "/proc/no/where.html"], "cannot be written"),
        (["plot", "x", "--figure", "curve", "--out", "a.png"], "did you mean 'curves'?"),
        (["plot", "x", "--figure", "curves", "--out", "a.gif"], "must end in .png, .svg, .pdf"),
        (["plot", str(RESULTS / "gin.json.gz"), "--figure", "parity", "--out", "a.png"], "a run keeps curves"),
    ],
)
def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert called(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["report", "plot"])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert called(command, "--help") == 0
    assert f"Example: mshgnn {command}" in capsys.readouterr().out
