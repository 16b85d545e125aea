"""``mshgnn report`` and ``mshgnn plot`` as a user types them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mshgnn.cli import main

RESULTS = Path(__file__).resolve().parents[2] / "results" / "graph" / "MUTAG"
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mshgnn", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        seen = capsys.readouterr()
        return int(caught.value.code or 0), seen.out, seen.err

    return call


def test_records_become_a_page_with_the_first_one_against_the_others(cli: Cli) -> None:
    first = str(RESULTS / "msh-stable.json.gz")
    code, out, _ = cli("report", first, str(RESULTS), "--out", "page.html")
    assert (code, out.startswith("wrote page.html")) == (0, True)
    page = Path("page.html").read_text()
    assert "msh-stable minus others" in page
    assert "a run keeps curves, not predictions" in page
    assert page.count(">msh-stable</p>") == 1  # named twice, shown once


def test_a_figure_is_drawn_into_a_file(cli: Cli) -> None:
    assert cli("plot", str(RESULTS / "gin.json.gz"), "--figure", "rules", "--out", "rules.svg")[0] == 0
    assert "<svg" in Path("rules.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "nowhere: there is no such file or folder"),
        (["report", "."], "neither a trained model, nor a run, nor a folder of records"),
        (
            ["report", str(RESULTS / "gin.json.gz"), "--data", "new.csv"],
            "--data: only a model that 'mshgnn train' made",
        ),
        (["report", str(RESULTS / "gin.json.gz"), "--out", "no/where.html"], "cannot be written"),
        (["plot", "x", "--figure", "curve", "--out", "a.png"], "did you mean 'curves'?"),
        (["plot", "x", "--figure", "curves", "--out", "a.gif"], "must end in .png, .svg, .pdf"),
        (["plot", str(RESULTS / "gin.json.gz"), "--figure", "parity", "--out", "a.png"], "a run keeps curves"),
    ],
)
def test_a_mistake_is_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    code, _, err = cli(*arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["report", "plot"])
def test_help_has_examples(cli: Cli, command: str) -> None:
    code, out, _ = cli(command, "--help")
    assert (code, f"Example: mshgnn {command}" in out) == (0, True)
