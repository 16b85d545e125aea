"""``mshgnn reproduce``: what it would cost, and a tiny suite run for real."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mshgnn.benchmarks.footprint import Footprint
from mshgnn.cli.figure import NAMES
from mshgnn.lab.experiment import Experiment, check_experiment
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction import reproduce
from mshgnn.reproduction.cost import recorded_times
from mshgnn.reproduction.reproduce import TARGETS, Target, estimate, target_experiments
from mshgnn.reproduction.tables import TABLES
from support.commands import Cli, in_this_process
from support.runs import make_record

TINY = """
recipe: {training: {epochs: 1}, folds: [0, 1]}
datasets: {shapes: {dataset: {path: shapes.jsonl}}}
models: {gcn: {model: {hidden_channels: 8}}, gin: {model: {hidden_channels: 8}, folds: [99]}, majority: {own: [model]}}
"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    return in_this_process(monkeypatch, capsys, "reproduce")


def test_every_target_names_a_suite_tables_and_figures_that_exist() -> None:
    for target in TARGETS.values():
        assert bool(target.suite) == bool(target_experiments(target, ["*/msh-stable"] if target.tables else ()))
        assert set(target.tables) <= set(TABLES)
        assert set(target.figures) <= set(NAMES)
    assert len(target_experiments(TARGETS["figure-4"])) == 4


def test_the_cost_is_seconds_per_fold_times_folds_and_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = make_record("NCI1", "gcn", 0.8)  # one fold of one second
    (fold,) = one.run.results
    three = tuple(replace(fold, key=FoldKey(0, number), seconds=2.0) for number in range(3))
    records = {("NCI1", "gcn"): one, ("NCI1", "gin"): replace(one, run=replace(one.run, results=three))}
    experiments = [
        check_experiment(
            {"name": f"graph/NCI1/{model}", "dataset": {"name": "NCI1"}, "model": {"name": model}, **more}, "test"
        )
        for model, more in (("gcn", {"seeds": [0, 1]}), ("gin", {"folds": [0, 1]}), ("gat", {}))
    ]
    nothing = recorded_times([])
    cost = estimate(Target("graph"), experiments, records, nothing)
    assert cost.recorded == {"graph/NCI1/gcn": 3 * 2 * 1.0, "graph/NCI1/gin": 2 * 2.0}
    assert cost.guessed == {}
    assert cost.unknown == ("graph/NCI1/gat",)
    alone = estimate(Target("graph", trains_in_place=True), experiments, records, nothing)
    assert alone.recorded["graph/NCI1/gcn"] == 1.0


def test_a_cell_without_a_record_is_guessed_from_what_the_model_took_on_other_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def took(dataset: str, model: str, seconds: float, folds: int = 1) -> Record:
        record = make_record(dataset, model, 0.8)  # of two epochs
        (fold,) = record.run.results
        results = tuple(replace(fold, key=FoldKey(0, number), seconds=seconds) for number in range(folds))
        return replace(record, run=replace(record.run, results=results))

    known = [
        took("MUTAG", "gcn", 2.0),
        took("MUTAG", "gat", 6.0),
        took("PTC", "gcn", 4.0),
        took("PTC", "gat", 20.0),
        took("NCI1", "gcn", 40.0, folds=10),
    ]
    times = recorded_times(known)
    assert times.epoch("NCI1", "gcn") == 20.0
    assert times.epoch("NCI1", "gat") == 20.0 * 4  # 3 and 5 times as long as gcn
    assert times.epoch("NCI1", "gin") is None
    assert times.epoch("PROTEINS", "gat") is None
    (gat, gin) = (
        check_experiment(
            {
                "name": f"graph/NCI1/{model}",
                "dataset": {"name": "NCI1"},
                "model": {"name": model},
                "training": {"epochs": 7},
            },
            "test",
        )
        for model in ("gat", "gin")
    )
    cost = estimate(Target("graph"), [gat, gin], {}, times)
    assert cost.guessed == {"graph/NCI1/gat": 10 * 7 * 80.0}
    assert cost.unknown == ("graph/NCI1/gin",)


def test_a_dry_run_names_the_cells_without_a_record_and_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli("table-1", "--dry-run", "--only", "PTC/g*n")
    assert code == 0
    assert "about 0.0 core-hours for 0 of them" in out
    assert "  PTC: gcn, gin" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table-4"], "unknown table or figure 'table-4'; did you mean"),
        (["figure-1", "--only", "MUTAG/*"], "--only is for tables and figures of many cells"),
        (["table-1", "--only", "MUTAGG/gcn"], "no such cell"),
        (["table-1", "--only", "PTC/gcn", "--jobs", "no"], "--jobs must be a number"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    code, _, error = cli(*arguments)
    assert code == 2
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_tiny_suite_is_run_recorded_and_not_run_again(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ring, star = [[0, 1], [1, 2], [2, 0]], [[0, 1], [0, 2], [0, 3]]
    lines = [json.dumps({"edges": edges, "num_nodes": 4, "target": t}) for t, edges in enumerate((ring, star))] * 10
    Path("shapes.jsonl").write_text("\n".join(lines))
    Path("tiny.yaml").write_text(TINY)
    monkeypatch.setitem(TABLES, "tiny", lambda results: "| made |")
    monkeypatch.setitem(TARGETS, "table-1", Target("tiny.yaml", tables=("tiny",)))
    code, out, err = cli("table-1", "--jobs", "1")
    assert code == 1, "one cell has no fold 99"
    assert "not run: tiny/shapes/gin: folds: 99 is too high" in err
    assert "| made |" in out
    assert sorted(path.name for path in Path("reproduced/tiny/shapes").iterdir()) == ["gcn.json.gz", "majority.json.gz"]
    code, out, _ = cli("table-1", "--jobs", "1", "--only", "shapes/gcn", "--results", "reproduced")
    assert code == 0
    assert "1 cells, about 0.0 core-hours for 1 of them" in out
    assert "2 there already" in out


def test_costs_are_those_of_the_networks_on_one_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def footprints(experiments: list[Experiment]) -> list[Footprint]:
        measured.extend(experiment.name for experiment in experiments)
        return [Footprint(0.00123, 4.567) for _ in experiments]

    monkeypatch.setattr(reproduce, "measure_footprints", footprints)
    target = TARGETS["table-3"]
    reproduce.measure_costs(target, target_experiments(target, ["*/gcn", "*/knn"]), tmp_path)
    assert measured == ["joint/structure-frequency-fixed/gcn"]
    assert json.loads((tmp_path / "joint-cost.json").read_text()) == {"gcn": {"inference_ms": 1.23, "peak_mb": 4.57}}


@pytest.mark.usefixtures("reference_backend")
def test_a_figure_without_training_is_drawn(cli: Cli) -> None:
    code, out, _ = cli("figure-1", "--out", "pictures")
    assert code == 0
    assert "nothing to train" in out
    assert Path("pictures/stars.png").is_file()
