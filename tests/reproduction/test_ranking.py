"""Who is ranked, and that the picture is drawn from the records."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mshgnn.cli import main
from mshgnn.errors import UserError
from mshgnn.records.record import Record, save_record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.layout import GRAPH_SETS
from mshgnn.reproduction.ranking import rank_graph_models
from mshgnn.reproduction.results import Results
from support.runs import make_record

ACCURACY = {"msh-stable": 0.8, "gcn": 0.7, "gin": 0.6, "majority": 0.5}


def two_folds(record: Record) -> Record:
    (first,) = record.run.results
    return replace(record, run=replace(record.run, results=(first, replace(first, key=FoldKey(0, 1)))))


def whole_records() -> dict[tuple[str, str], Record]:
    return {(s, m): two_folds(make_record(s, m, value)) for s in GRAPH_SETS for m, value in ACCURACY.items()}


def test_models_with_all_folds_on_all_sets_are_ranked_and_no_others() -> None:
    records = whole_records()
    records["PTC", "gat"] = two_folds(make_record("PTC", "gat", 0.9))  # one set alone
    for dataset in GRAPH_SETS:
        records[dataset, "film"] = make_record(dataset, "film", 0.9)  # one fold of two
    found = rank_graph_models(Results(records, {}, {}, {}))
    assert found.models == ("msh-stable", "gcn", "gin")
    assert found.ranking.ranks == (1.0, 2.0, 3.0)
    assert found.ranking.sets == 8
    assert found.ranking.p == pytest.approx(0.000335, abs=1e-6)  # exp(-8): chi-square 16, two degrees of freedom
    assert "PTC" in found.title


def test_two_models_are_too_few() -> None:
    records = {key: record for key, record in whole_records().items() if key[1] != "gin"}
    with pytest.raises(UserError, match="there are 2"):
        rank_graph_models(Results(records, {}, {}, {}))


def test_the_picture_is_drawn_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for (dataset, model), record in whole_records().items():
        save_record(record, tmp_path / "graph" / dataset / f"{model}.json.gz")
    out = tmp_path / "ranks.svg"
    command = ["mshgnn", "figure", "critical-difference", "--out", str(out), "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert out.read_text().startswith("<?xml")
