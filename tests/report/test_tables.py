"""The pages say what the records say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import sem

from mshgnn.cli import tables as tables_command
from mshgnn.evaluation.rules import RULES
from mshgnn.lab.experiment import check_experiment
from mshgnn.lab.record import Record
from mshgnn.lab.runner import Run
from mshgnn.lab.store import FoldKey, FoldResult, RunInfo
from mshgnn.report.published import paper_figures
from mshgnn.report.results import Results, load_results
from mshgnn.report.tables import GRAPH_SETS, TABLES, filled, stale
from mshgnn.training.curves import CURVE_NAMES, Curves

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / page for page in tables_command.PAGES]


def test_committed_pages_match_the_committed_records() -> None:
    assert stale(PAGES, load_results(ROOT / "results")) == []


def make_record(dataset: str, model: str, test_metric: float, about: str = "") -> Record:
    described = {"name": "x", "about": about, "dataset": {"name": dataset}, "model": {"name": model}}
    experiment = check_experiment(described, "test")
    values = {name: np.array([0.5, test_metric]) for name in CURVE_NAMES}
    curves = Curves(**values, sizes=(8, 1, 1))
    info = RunInfo.__new__(RunInfo)
    object.__setattr__(info, "experiment", experiment)
    result = FoldResult(FoldKey(0, 0), curves, 1.0, 1.0, 10, {})
    return Record(Run(info, (result,)), {name: rule([curves]) for name, rule in RULES.items()})


def test_the_best_of_several_is_bold_and_a_missing_run_is_a_dash() -> None:
    records = {
        ("MUTAG", "gcn"): make_record("MUTAG", "gcn", 0.75),
        ("MUTAG", "gin"): make_record("MUTAG", "gin", 0.875),
        ("PTC", "gcn"): make_record("PTC", "gcn", 0.625),
    }
    table = TABLES["graph-models"](Results(records, {}, {}, {}))
    gcn, gin = table.splitlines()[2:]
    assert gcn.startswith("| GCN | 75.0 | 62.5 | – |")
    assert gin.startswith("| GIN | **87.5** | – | – |")


def with_folds(record: Record, accuracies: list[float], splits: str = "same") -> Record:
    object.__setattr__(record.run.info, "splits_checksum", splits)
    headline = replace(record.rules["best_validation"], per_fold=tuple(accuracies))
    return replace(record, rules={**record.rules, "best_validation": headline})


def test_differences_are_paired_by_fold_and_only_on_the_same_splits() -> None:
    ours, theirs = [0.80, 0.70, 0.90], [0.75, 0.68, 0.88]
    records = {
        ("NCI1", "msh-stable"): with_folds(make_record("NCI1", "msh-stable", 0.8), ours),
        ("NCI1", "gin"): with_folds(make_record("NCI1", "gin", 0.8), theirs),
        ("NCI1", "gcn"): with_folds(make_record("NCI1", "gcn", 0.8), theirs, splits="others"),
    }
    gcn, _, gin, _ = TABLES["graph-differences"](Results(records, {}, {}, {})).splitlines()[2:]
    points = 100 * (np.array(ours) - np.array(theirs))
    assert f" {points.mean():+.1f} ± {sem(points):.1f} |" in gin
    assert "±" not in gcn


def with_losses(record: Record, validation: list[list[float]], test: list[list[float]]) -> Record:
    object.__setattr__(record.run.info, "splits_checksum", "same")
    (first,) = record.run.results
    curves = [
        replace(first.curves, validation_loss=np.array(chosen), test_loss=np.array(shown))
        for chosen, shown in zip(validation, test, strict=True)
    ]
    folds = tuple(replace(first, key=FoldKey(0, fold), curves=curve) for fold, curve in enumerate(curves))
    return replace(record, run=replace(record.run, results=folds))


def test_losses_are_of_the_epoch_with_the_lowest_validation_loss() -> None:
    records = {
        ("MUTAG", "msh-stable"): with_losses(
            make_record("MUTAG", "msh-stable", 0.8), [[0.3, 0.2], [0.1, 0.4]], [[0.1, 0.5], [0.3, 0.1]]
        ),
        ("MUTAG", "gin"): with_losses(
            make_record("MUTAG", "gin", 0.8), [[0.9, 0.8], [0.8, np.nan]], [[0.0, 0.6], [0.7, 0.0]]
        ),
    }
    stable, _, _, gin, _, mlp = TABLES["graph-losses"](Results(records, {}, {}, {})).splitlines()[2:]
    assert stable.split(" | ")[1] == "0.400"  # 0.5 and 0.3
    error = sem([0.6 - 0.5, 0.7 - 0.3])
    assert gin.split(" | ")[1] == f"0.650 (+0.250 ± {error:.3f})"
    assert mlp.split(" | ")[1] == "–"


def test_means_that_read_alike_are_bold_alike() -> None:
    near = {("NCI1", "gcn"): make_record("NCI1", "gcn", 0.8187), ("NCI1", "gin"): make_record("NCI1", "gin", 0.8186)}
    assert TABLES["graph-models"](Results(near, {}, {}, {})).count("**81.9**") == 2


def test_nothing_is_bold_where_controls_alone_were_run() -> None:
    controls = {("COLLAB", model): make_record("COLLAB", model, 0.75) for model in ("majority", "wl-lookup")}
    assert "75.0" in TABLES["graph-models"](Results(controls, {}, {}, {}))
    assert "**75.0" not in TABLES["graph-models"](Results(controls, {}, {}, {}))
    with_gin = {**controls, ("COLLAB", "gin"): make_record("COLLAB", "gin", 0.5)}
    assert "**75.0" in TABLES["graph-models"](Results(with_gin, {}, {}, {}))


def test_the_rules_table_shows_the_papers_figure_and_the_ceiling() -> None:
    table = TABLES["graph-rules"](Results({}, {}, {}, {"ceilings": {"MUTAG": 100.0}}))
    row = table.splitlines()[2]
    assert row.endswith("| 99.1 ± 0.3 | 100.0 |")
    assert len(table.splitlines()) == 2 + len(GRAPH_SETS)


@pytest.mark.parametrize("old", ["old\n", ""])
def test_only_marked_blocks_change(old: str) -> None:
    text = f"before\n<!-- table: graph-models -->\n{old}<!-- end -->\nafter"
    new = filled(text, Results({}, {}, {}, {}))
    assert "old\n" not in new
    assert new.startswith("before\n<!-- table: graph-models -->\n| test, %")
    assert new.endswith("\n<!-- end -->\nafter")
    assert filled(new, Results({}, {}, {}, {})) == new


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(ValueError, match="no table 'grph'"):
        filled("<!-- table: grph -->\n<!-- end -->", Results({}, {}, {}, {}))


def test_paper_figures_are_those_of_its_tables() -> None:
    figures = paper_figures()
    assert figures["MUTAG"].mean == 99.1
    assert figures["Minesweeper"].mean == 94.78
    assert len(figures) == 12


def with_validation(record: Record, folds: list[tuple[list[float], list[float]]]) -> Record:
    """The record with these validation metrics and losses, fold by fold."""
    results = []
    for fold, (metrics, losses) in enumerate(folds):
        values = {name: np.zeros(len(metrics)) for name in CURVE_NAMES}
        values.update(validation_metric=np.array(metrics), validation_loss=np.array(losses))
        results.append(FoldResult(FoldKey(0, fold), Curves(**values, sizes=(8, 1, 1)), 1.0, 1.0, 10, {}))
    return Record(Run(record.run.info, tuple(results)), record.rules)


def test_trials_show_the_best_validation_of_each_change() -> None:
    early_stop = [([0.7, 0.8], [0.9, 0.3]), ([0.6], [0.4])]
    made = [
        with_validation(make_record("NCI1", "msh-stable", 0.0, "as it is"), early_stop),
        with_validation(make_record("PTC", "msh-stable", 0.0, "as it is"), [([0.6, 0.5], [0.7, 0.75])]),
        with_validation(make_record("NCI1", "msh-stable", 0.0, "mean readout"), [([0.5], [2.0]), ([0.6], [1.0])]),
    ]
    rows = TABLES["trials-phase"](Results({}, {"phase": made}, {}, {})).splitlines()
    assert rows[0] == "| best validation, % (lowest loss) | NCI1 (2 folds) | PTC (1 fold) |"
    # The loss is that of the mean curve: (0.3 + 0.4) / 2, not the mean of each fold's best.
    assert rows[2:] == ["| as it is | 70.0 (0.350) | 60.0 (0.700) |", "| mean readout | 55.0 (1.500) | – |"]


def test_capacity_shows_what_the_long_run_and_the_lookup_table_memorise() -> None:
    long = {
        ("MUTAG", "msh-stable"): make_record("MUTAG", "msh-stable", 0.875),
        ("MUTAG", "wl-lookup"): make_record("MUTAG", "wl-lookup", 0.75),
        ("PTC", "msh-stable"): make_record("PTC", "msh-stable", 0.5),
        ("NCI1", "wl-lookup"): make_record("NCI1", "wl-lookup", 0.5),
    }
    rows = TABLES["capacity"](Results({}, {}, long, {})).splitlines()
    assert rows[2:] == [
        "| MUTAG (1 fold) | 87.5 | 87.5 | 75.0 | 99.1 ± 0.3 |",
        "| PTC (1 fold) | 50.0 | 50.0 | – | 91.4 ± 1.5 |",
    ]


def test_bench_shows_a_column_for_every_committed_run() -> None:
    faster = {"text": "a", "measured": 0.5, "bound": 1.0, "at_least": False, "met": True}
    larger = {"text": "b", "measured": 3.0, "bound": 5.0, "at_least": True, "met": False}
    measured = {
        "bench-compare": {"goals": [faster, larger], "environment": {"processor": "Intel(R) Xeon(R) Processor"}},
        "bench-compare-kept": {
            "goals": [faster | {"measured": 1.25, "met": False}],
            "environment": {"processor": "AMD EPYC", "freed_memory": "kept"},
        },
        "bench-harness": {"goals": []},
    }
    assert TABLES["bench"](Results({}, {}, {}, measured)).splitlines() == [
        "| ratio in one run | goal | Intel Xeon | AMD EPYC, freed memory kept |",
        "| --- | --- | --- | --- |",
        "| a | at most 1 | 0.50 | 1.25 (missed) |",
        "| b | at least 5 | 3.00 (missed) | – |",
    ]
