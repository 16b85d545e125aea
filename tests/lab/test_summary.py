from __future__ import annotations

import io
from pathlib import Path

import pytest
from lab_helpers import make_data, make_experiment, use_tiny_data
from rich.console import Console
from rich.table import Table

from mshgnn.data import load_splits
from mshgnn.evaluation.rules import HEADLINE, RULES
from mshgnn.lab.display import PlainDisplay
from mshgnn.lab.fold import LoadedData
from mshgnn.lab.record import load_record, make_record, save_record
from mshgnn.lab.runner import run_experiment
from mshgnn.lab.summary import rules_table, side_by_side, summarise


def shown(table: Table) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def without_validation() -> LoadedData:
    dataset = make_data().dataset
    return LoadedData(dataset, load_splits(dataset, "cross-validation"))


@pytest.mark.parametrize("model", [{"name": "gcn", "hidden_channels": 8, "num_layers": 1}, {"name": "majority"}])
def test_without_a_validation_part_there_is_no_headline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: dict[str, object]
) -> None:
    display = PlainDisplay(Console(file=io.StringIO()))
    use_tiny_data(monkeypatch)
    with_validation = run_experiment(make_experiment(), tmp_path / "with", display)
    monkeypatch.setattr("mshgnn.lab.runner.load_data", lambda experiment: without_validation())
    run = run_experiment(make_experiment(model=model), tmp_path / "without", display)
    rules = summarise(run)
    assert list(rules) == [name for name in RULES if name != HEADLINE]
    curves = run.results[0].curves
    counted = (curves.train_metric * curves.sizes[0] + curves.test_metric * curves.sizes[2]) / sum(curves.sizes)
    assert rules["whole_set_best"].per_fold[0] == pytest.approx(counted.max())
    assert HEADLINE not in shown(rules_table(run, rules))
    both = shown(side_by_side([("a", with_validation, summarise(with_validation)), ("b", run, rules)]))
    line = next(line for line in both.splitlines() if HEADLINE in line)
    assert "±" in line
    assert line.rstrip(" │").endswith("–")
    assert load_record(save_record(make_record(run), tmp_path)).rules == rules
