"""The pages say what the records say."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mshgnn.cli import tables as tables_command
from mshgnn.data import StructureFrequencyDataset
from mshgnn.lab.suite import load_experiments as shipped
from mshgnn.models import MODELS as NETWORKS
from mshgnn.models.controls import CONTROLS as REGISTERED
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.layout import CONTROLS, GRAPH_SETS, JOINT_SETS, MODELS
from mshgnn.reproduction.published import paper_figures
from mshgnn.reproduction.results import WORTH_SUITES, Results, load_results, runs
from mshgnn.reproduction.tables import TABLES, stale
from support.runs import make_record

ROOT = Path(__file__).resolve().parents[2]


def test_committed_pages_match_the_committed_records() -> None:
    assert stale(tables_command.all_pages(ROOT), load_results(ROOT / "results")) == []


def test_every_table_stands_on_some_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in tables_command.all_pages(ROOT))
    assert [name for name in TABLES if f"<!-- table: {name} -->" not in text] == []


def test_the_readme_table_shows_five_models_and_marks_the_best_of_them() -> None:
    accuracies = {"msh-stable": 0.75, "gcn": 0.625, "gat": 1.0, "gin": 0.875, "mlp": 0.5, "majority": 0.25}
    records = {("MUTAG", model): make_record("MUTAG", model, accuracy) for model, accuracy in accuracies.items()}
    rows = TABLES["readme"](Results(records, {}, {}, {})).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| **MSH-GNN `stable`**",
        "| GCN",
        "| GIN",
        "| MLP on summed features",
        "| majority class",
    ]
    assert [row for row in rows if "**87.5**" in row] == [rows[2]]


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


def test_means_that_read_alike_are_bold_alike() -> None:
    near = {("NCI1", "gcn"): make_record("NCI1", "gcn", 0.8187), ("NCI1", "gin"): make_record("NCI1", "gin", 0.8186)}
    assert TABLES["graph-models"](Results(near, {}, {}, {})).count("**81.9**") == 2


def test_a_spread_is_over_the_folds_whatever_their_seeds_and_missing_folds_are_said() -> None:
    one = make_record("NCI1", "gcn", 0.5)
    (first,) = one.run.results

    def given(keys: list[FoldKey], values: tuple[float, ...]) -> Record:
        headline = replace(one.rules["best_validation"], mean=float(np.mean(values)), per_fold=values, std=9.0)
        run = replace(one.run, results=tuple(replace(first, key=key) for key in keys))
        return replace(one, run=run, stored={**one.rules, "best_validation": headline})

    four = given([FoldKey(seed, fold) for seed in (0, 1) for fold in (0, 1)], (0.8, 0.5, 0.6, 0.7))  # 0.7 and 0.6
    records = {("NCI1", "gcn"): four, ("NCI1", "gin"): given([FoldKey(0, 0)], (0.75,))}
    gcn, gin = TABLES["graph-models"](Results(records, {}, {}, {})).splitlines()[2:]
    assert "| 65.0 ± 5.0 |" in gcn
    assert "| **75.0 (1 fold)** |" in gin


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


def test_a_recipe_of_others_stands_beside_what_they_published_and_not_among_the_models() -> None:
    models = ("gat-tuned", "gat", "msh-stable")
    records = {("AmazonComputers", model): make_record("AmazonComputers", model, 0.875) for model in models}
    tuned = records["AmazonComputers", "gat-tuned"]
    on_test = replace(tuned.rules["best_test_per_fold"], mean=0.95)
    records["AmazonComputers", "gat-tuned"] = replace(tuned, stored={**tuned.rules, "best_test_per_fold": on_test})
    results = Results(records, {}, {}, {})
    row = "| Computers, GAT (1 fold) | 94.1 | 87.5 | 95.0 | 87.5 | 87.5 |"
    assert TABLES["node-tuned"](results).splitlines()[2:] == [row]
    assert len(TABLES["node-models"](results).splitlines()) == 2 + 2


def test_the_joint_task_is_shown_under_every_rule_without_its_control() -> None:
    dataset = "structure-frequency-varied"
    records = {(dataset, model): make_record(dataset, model, 0.25) for model in ("joint-gcn", "knn")}
    rows = TABLES["joint-rules"](Results(records, {}, {}, {})).splitlines()
    # Every part has 0.5 after the first epoch and 0.25 after the last.
    assert rows[2:] == ["| GCN of the paper, varied | 50.0 | 25.0 | 50.0 | 50.0 | 50.0 |"]


@pytest.mark.parametrize(
    ("folds", "seeds", "text"),
    [(1, 1, "1 fold"), (10, 1, "10 folds"), (1, 5, "5 seeds"), (10, 3, "10 folds x 3 seeds")],
)
def test_what_was_run_in_words(folds: int, seeds: int, text: str) -> None:
    record = make_record("MUTAG", "gcn", 0.5)
    (result,) = record.run.results
    keys = [FoldKey(seed, fold) for seed in range(seeds) for fold in range(folds)]
    assert (
        runs(replace(record, run=replace(record.run, results=tuple(replace(result, key=key) for key in keys)))) == text
    )


def test_paper_figures_are_those_of_its_tables() -> None:
    figures = paper_figures()
    assert figures["MUTAG"].mean == 99.1
    assert figures["Minesweeper"].mean == 94.78
    assert len(figures) == 12


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


def test_the_released_model_is_shown_on_all_graphs_and_on_unseen_ones() -> None:
    record = make_record("MUTAG", "msh-released", 0.875)
    (row,) = TABLES["as-released"](Results({}, {}, {("MUTAG", "msh-released"): record}, {})).splitlines()[2:]
    assert row.replace(" (old form)", "") == "| MUTAG (1 fold) | 87.5 | 87.5 | 87.5 | 87.5 | 99.1 ± 0.3 |"


def test_bench_shows_a_column_for_every_committed_run() -> None:
    quick = {"text": "a", "measured": 0.5, "bound": 1.0, "met": True}
    slow = {"text": "b", "measured": 7.0, "bound": 5.0, "met": False}
    measured = {
        "bench/kept-1": {"goals": [quick, slow], "environment": {"threads": 1, "freed_memory": "kept"}},
        "bench/returned-2": {
            "goals": [quick | {"measured": 1.25, "met": False, "parts": 0.75}],
            "environment": {"threads": 2, "freed_memory": "returned"},
        },
        "bench-harness": {"goals": []},
    }
    assert TABLES["bench"](Results({}, {}, {}, measured)).splitlines() == [
        "| ratio in one run | at most | 1 thread, freed memory kept | 2 threads, freed memory returned |",
        "| --- | --- | --- | --- |",
        "| a | 1 | 0.5 | 1.2 (missed; parts 0.75) |",
        "| b | 5 | 7 (missed) | – |",
    ]


def test_growth_has_a_row_for_every_size() -> None:
    row = {"edges": 1_000_000, "nodes": 20_000, "step_seconds": 0.4567, "peak_bytes": 7e8}
    near, kept, large = row | {"step_seconds": 0.25}, row | {"step_seconds": 0.3}, row | {"edges": 120_000_000}
    measured = {"bench-scale": {"rows": [row, large], "local_rows": [near, near], "kept_rows": [kept]}}
    rows = TABLES["bench-scale"](Results({}, {}, {}, measured)).splitlines()
    assert rows[2:] == [
        "| 1,000,000 | 20,000 | 0.457 | 0.25 | 0.3 | 0.7 |",
        "| 120,000,000 | 20,000 | 0.457 | 0.25 | – | 0.7 |",
    ]


def test_a_wrong_folder_of_records_erases_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table: graph-models -->\n| measured |\n<!-- end -->\n")
    with pytest.raises(ValueError, match="typo: there is no such folder"):
        tables_command.tables([page], tmp_path / "typo")
    assert "measured" in page.read_text()
    with pytest.raises(ValueError, match="no such page"):
        tables_command.tables([tmp_path / "nothing.md"], tmp_path)


def test_the_limits_of_the_joint_task_are_those_of_its_generator() -> None:
    limits = json.loads((ROOT / "results" / "joint-limits.json").read_text())
    for dataset, title in JOINT_SETS.items():
        variant = StructureFrequencyDataset.variant(title)
        assert limits[dataset]["ceiling"] == round(100 * variant.ceiling(), 2)
        assert limits[dataset]["eigenvalue"] == round(100 * variant.eigenvalue_ceiling(), 2)


def test_every_model_of_a_suite_in_the_tables_has_a_title() -> None:
    cells = [cell.name.rsplit("/", 2) for suite in ("graph", "node", *WORTH_SUITES) for cell in shipped(Path(suite))]
    assert {model for _, _, model in cells} <= {*MODELS}
    networks = {name: title for name, title in MODELS.items() if name in NETWORKS}
    short = {"msh-stable", "msh-paper", "msh-released", "edge-mlp", "transformer"}
    assert {name: NETWORKS[name].title for name in {*networks} - short} == {
        name: title for name, title in networks.items() if name not in short
    }


def test_the_controls_of_the_pages_are_those_of_the_registry() -> None:
    assert set(REGISTERED) == CONTROLS


def test_tables_need_neither_torch_nor_numba() -> None:
    heavy = "('torch', 'numba', 'sklearn', 'pydantic')"
    check = f"import sys, mshgnn.reproduction.tables; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
