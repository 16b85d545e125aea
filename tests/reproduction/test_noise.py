"""Which records show where their noise comes from."""

from __future__ import annotations

from dataclasses import replace

from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.noise import graph_noise
from mshgnn.reproduction.results import Results
from support.runs import make_record


def with_seeds(record: Record, *seeds: tuple[float, ...]) -> Record:
    (first,) = record.run.results
    keys = [FoldKey(seed, fold) for seed, folds in enumerate(seeds) for fold in range(len(folds))]
    headline = replace(record.rules["best_validation"], per_fold=tuple(value for folds in seeds for value in folds))
    run = replace(record.run, results=tuple(replace(first, key=key) for key in keys))
    return replace(record, run=run, stored={**record.rules, "best_validation": headline})


def test_models_with_several_seeds_and_folds_have_a_row() -> None:
    records = {
        ("MUTAG", "gin"): with_seeds(make_record("MUTAG", "gin", 0.8), (0.81, 0.85), (0.83, 0.85)),
        ("MUTAG", "gcn"): with_seeds(make_record("MUTAG", "gcn", 0.8), (0.81, 0.85)),
        ("PTC", "gin"): with_seeds(make_record("PTC", "gin", 0.8), (0.81,), (0.85,)),
    }
    # By hand in tests/evaluation/test_variance.py: 1 and 2, over the roots of 4 and 2.
    assert graph_noise(Results(records, {}, {}, {})).splitlines()[2:] == [
        "| MUTAG, GIN | 83.5 | 1.0 | 2.0 | 0.5 | 1.4 |"
    ]
