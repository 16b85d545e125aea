"""Differences by fold against the standard error of Nadeau and Bengio, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.paired import graph_differences, graph_losses, paired_difference
from mshgnn.reproduction.results import Results
from support.runs import make_record


def corrected(differences: list[float]) -> float:
    """The error where one item is tested for every eight trained on, as in ``make_record``."""
    return math.sqrt(1 / len(differences) + 1 / 8) * float(np.std(differences, ddof=1))


def with_folds(record: Record, accuracies: list[float], splits: str = "same", seeds: int = 1) -> Record:
    """Of every seed the folds, one after the other."""
    (first,) = record.run.results
    folds = len(accuracies) // seeds
    keys = [FoldKey(seed, fold) for seed in range(seeds) for fold in range(folds)]
    headline = replace(record.rules["best_validation"], per_fold=tuple(accuracies))
    info = replace(record.info, splits_checksum=splits)
    run = replace(record.run, info=info, results=tuple(replace(first, key=key) for key in keys))
    return replace(record, run=run, stored={**record.rules, "best_validation": headline})


def test_differences_are_paired_by_fold_and_only_on_the_same_splits() -> None:
    ours, theirs = [0.80, 0.70, 0.90], [0.75, 0.68, 0.88]
    records = {
        ("NCI1", "msh-stable"): with_folds(make_record("NCI1", "msh-stable", 0.8), ours),
        ("NCI1", "gin"): with_folds(make_record("NCI1", "gin", 0.8), theirs),
        ("NCI1", "gcn"): with_folds(make_record("NCI1", "gcn", 0.8), theirs, splits="others"),
    }
    gcn, gin = graph_differences(Results(records, {}, {}, {})).splitlines()[2:]
    points = 100 * (np.array(ours) - np.array(theirs))
    assert f" {points.mean():+.1f} ± {corrected(points.tolist()):.1f} |" in gin
    assert "±" not in gcn


def test_significant_differences_are_bold_and_one_fold_is_none() -> None:
    ours, theirs = [0.80, 0.81, 0.82, 0.80], [0.70, 0.72, 0.71, 0.71]
    records = {
        ("NCI1", "msh-stable"): with_folds(make_record("NCI1", "msh-stable", 0.8), ours),
        ("NCI1", "gin"): with_folds(make_record("NCI1", "gin", 0.8), theirs),
        ("PTC", "msh-stable"): make_record("PTC", "msh-stable", 0.8),
        ("PTC", "gin"): make_record("PTC", "gin", 0.7),
    }
    row = graph_differences(Results(records, {}, {}, {})).splitlines()[2].split(" | ")
    points = 100 * (np.array(ours) - np.array(theirs))
    assert row[4] == f"**{points.mean():+.1f} ± {corrected(points.tolist()):.1f}**"
    assert row[2] == "–"


def test_the_seeds_of_a_fold_are_one_part_and_models_may_have_different_ones() -> None:
    ours = with_folds(make_record("MUTAG", "msh-stable", 0.8), [0.8, 0.6, 0.9, 0.7], seeds=2)  # 0.85 and 0.65
    theirs = with_folds(make_record("MUTAG", "gin", 0.8), [0.7, 0.6])
    found = paired_difference(ours, theirs)
    assert found is not None
    assert found.folds == 2
    assert found.mean == pytest.approx(0.1)
    assert found.error == pytest.approx(corrected([0.15, 0.05]))


def test_where_one_fold_is_all_there_is_the_error_is_that_of_its_seeds() -> None:
    ours = with_folds(make_record("MUTAG", "msh-stable", 0.8), [0.8, 0.9, 0.7], seeds=3)
    theirs = with_folds(make_record("MUTAG", "gin", 0.8), [0.7, 0.9, 0.6], seeds=3)
    found = paired_difference(ours, theirs)
    assert found is not None
    assert found.error == pytest.approx(np.std([0.1, 0.0, 0.1], ddof=1) / math.sqrt(3))
    assert paired_difference(ours, with_folds(make_record("MUTAG", "gin", 0.8), [0.7, 0.9], seeds=2)) is None


def test_a_smaller_error_is_better() -> None:
    ours = with_folds(make_record("MUTAG", "msh-stable", 0.8), [0.2, 0.3])
    (first, second) = ours.run.results
    down = tuple(replace(one, curves=replace(one.curves, higher_is_better=False)) for one in (first, second))
    found = paired_difference(
        replace(ours, run=replace(ours.run, results=down)),
        with_folds(make_record("MUTAG", "gin", 0.8), [0.5, 0.5]),
    )
    assert found is not None
    assert found.mean == pytest.approx(0.25)


def with_losses(record: Record, validation: list[list[float]], test: list[list[float]]) -> Record:
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
    stable, _, _, gin, _, mlp = graph_losses(Results(records, {}, {}, {})).splitlines()[2:]
    assert stable.split(" | ")[1] == "0.400"  # 0.5 and 0.3
    error = corrected([0.6 - 0.5, 0.7 - 0.3])
    assert gin.split(" | ")[1] == f"0.650 (+0.250 ± {error:.3f})"
    assert mlp.split(" | ")[1] == "–"
