"""The table of both choices from records made by hand, and the counts of reused graphs from the splits themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import sem

from mshgnn.data import load, load_splits
from mshgnn.evaluation.selection import reused
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey, Run
from mshgnn.reproduction.layout import GRAPH_SETS
from mshgnn.reproduction.results import Results
from mshgnn.reproduction.selection_bias import REUSE, selection_bias, tried
from support.mirror import needs_mirror
from support.runs import make_record

KEPT = Path(__file__).parents[2] / "results" / f"{REUSE}.json"


def option(validation: list[float], test: list[float], about: str, splits: str = "same") -> Record:
    """A trial of one epoch on 30 validation graphs."""
    record = make_record("PTC", "msh-stable", 0.5, about)
    (first,) = record.run.results
    results = []
    for fold, (chosen, shown) in enumerate(zip(validation, test, strict=True)):
        zero = np.zeros(1)
        curves = replace(
            first.curves,
            validation_metric=np.array([chosen]),
            test_metric=np.array([shown]),
            train_metric=zero,
            train_loss=zero,
            validation_loss=zero,
            test_loss=zero,
            sizes=(240, 30, 30),
        )
        results.append(replace(first, key=FoldKey(0, fold), curves=curves))
    return Record(Run(replace(record.info, splits_checksum=splits), tuple(results)), {})


def row(results: Results, title: str) -> list[str]:
    (found,) = [line for line in selection_bias(results).splitlines() if line.startswith(f"| {title} |")]
    return found.strip("| ").split(" | ")


def test_a_set_shows_both_choices_and_their_paired_difference() -> None:
    one = option([0.9] + [0.5] * 9, [0.1] * 10, "one")
    other = option([0.6] * 10, [0.4] * 9 + [0.6], "other")
    short = make_record("PTC", "msh-stable", 0.9)
    results = Results({}, {"phase": [one, short], "head": [other, one]}, {}, {REUSE: {"PTC": [344, 344]}})
    assert [record.info.about for record in tried(results, "PTC")] == ["other", "one"]  # once each
    gap = 100 * np.array([0.3] + [0.0] * 9)
    assert row(results, "PTC") == ["PTC", "344 of 344", "2", "42.0", "39.0", f"+3.0 ± {sem(gap):.1f}"]
    assert row(results, "MUTAG") == ["MUTAG", "–", "0", "–", "–", "–"]


def test_digits_that_a_record_leaves_out_decide_nothing() -> None:
    thirds = option([0.3333, 0.3333, 0.3333] + [0.5] * 7, [0.0] * 10, "three times ten of thirty")
    same = option([0.6667, 0.3333, 0.0] + [0.5] * 7, [1.0] * 10, "as many graphs in all")
    assert row(Results({}, {"phase": [thirds, same]}, {}, {}), "PTC")[3] == "50.0"


def test_trials_of_other_splits_are_not_compared() -> None:
    records = [option([0.5] * 10, [0.5] * 10, "one"), option([0.4] * 10, [0.5] * 10, "other", splits="others")]
    with pytest.raises(ValueError, match="several splits"):
        tried(Results({}, {"phase": records}, {}, {}), "PTC")


@needs_mirror
@pytest.mark.parametrize("name", [name for name in GRAPH_SETS if name not in ("REDDIT-BINARY", "COLLAB")])
def test_the_committed_counts_are_those_of_the_splits(name: str) -> None:
    folds = load_splits(load(name)).folds
    found = reused([fold.validation.tolist() for fold in folds], [fold.test.tolist() for fold in folds])
    assert list(found) == json.loads(KEPT.read_text(encoding="utf-8"))[name]
