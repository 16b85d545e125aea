"""The tables of where a message pays: figures of the records, what each run cost, and how far `stable` is ahead."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mshgnn.errors import UserError
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.results import Results
from mshgnn.reproduction.worth import draw_worth, error_and_cost, worth, worth_costs
from support.runs import make_record


def suite(records: dict[tuple[str, str], Record]) -> Results:
    return Results({}, {}, {}, {}, {"attributes": records})


def with_seeds(record: Record, *values: float) -> Record:
    (first,) = record.run.results
    headline = replace(record.rules["best_validation"], mean=float(np.mean(values)), per_fold=values)
    curves = replace(first.curves, higher_is_better=False)
    results = tuple(
        replace(first, key=FoldKey(seed, 0), curves=curves, seconds=10.0 + seed, peak_memory_mb=1500.0 + seed)
        for seed in range(len(values))
    )
    run = replace(record.run, info=replace(record.info, metric="mse"), results=results)
    return replace(record, run=run, stored={**record.rules, "best_validation": headline})


def test_a_row_has_the_figure_of_every_set() -> None:
    gcn, pna = make_record("MUTAG", "gcn", 0.5), make_record("MUTAG", "pna", 0.75)
    found = {("MUTAG", "gcn"): gcn, ("MUTAG", "pna"): pna, ("PTC", "pna"): pna}
    rows = worth(suite(found), "attributes").splitlines()
    assert rows[0] == "| test | MUTAG: accuracy (1 fold) | PTC: accuracy (1 fold) |"
    assert rows[2] == "| GCN | 50.0 ± 0.0 | – |"
    assert rows[3] == "| PNA | 75.0 ± 0.0 | 75.0 ± 0.0 |"


def test_in_brackets_is_by_how_much_the_error_of_stable_is_smaller() -> None:
    ours = with_seeds(make_record("one-layer", "msh-stable", 0.5), 0.1, 0.2, 0.3)
    gcn = with_seeds(make_record("one-layer", "gcn", 0.5), 0.5, 0.7, 0.6)
    found = suite({("one-layer", "msh-stable"): ours, ("one-layer", "gcn"): gcn})
    stable, other = worth(found, "attributes").splitlines()[2:]
    error = np.std([0.4, 0.5, 0.3], ddof=1) / math.sqrt(3)
    assert stable == "| **MSH-GNN `stable`** | 0.200 ± 0.082 |"
    assert other == f"| GCN | 0.600 ± 0.082 (**+0.400 ± {error:.3f}**) |"
    assert worth_costs(found, "attributes").splitlines()[3] == "| GCN | 11 s, 1,502 MB |"


def test_pnas_benchmark_stands_beside_what_its_authors_printed() -> None:
    records = {("pna-multitask-nodes", model): make_record("pna", model, 0.5) for model in ("pna", "sage")}
    sage, pna = worth(Results({}, {}, {}, {}, {"multitask": records}), "multitask").splitlines()[2:]
    assert sage.endswith("| – |")
    assert pna.endswith("| -2.97 |")


def test_a_suite_without_records_is_an_empty_table() -> None:
    assert worth(Results({}, {}, {}, {}), "neighbours").splitlines()[2:] == []
    assert worth_costs(Results({}, {}, {}, {}), "neighbours").splitlines()[2:] == []


def test_the_picture_has_seconds_per_run_and_the_headline_of_every_model(tmp_path: Path) -> None:
    ours = with_seeds(make_record("one-layer", "msh-stable", 0.5), 0.1, 0.2, 0.3)
    gcn = with_seeds(make_record("one-layer", "gcn", 0.5), 0.5, 0.7)
    found = Results({}, {}, {}, {}, {"neighbours": {("one-layer", "msh-stable"): ours, ("one-layer", "gcn"): gcn}})
    (panel,) = error_and_cost(found).values()
    assert panel["MSH-GNN stable"] == pytest.approx((11.0, 0.2))
    assert panel["GCN"] == pytest.approx((10.5, 0.6))
    assert draw_worth(found, tmp_path / "worth.png").read_bytes().startswith(b"\x89PNG")


def test_without_records_there_is_no_picture() -> None:
    with pytest.raises(UserError, match="mshgnn run neighbours"):
        error_and_cost(Results({}, {}, {}, {}))
