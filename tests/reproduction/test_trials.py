"""Trials are read on validation alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey, FoldResult, Run
from mshgnn.reproduction.results import Results
from mshgnn.reproduction.trials import trials
from mshgnn.training.curves import CURVE_NAMES, Curves
from support.runs import make_record


def with_validation(record: Record, folds: list[tuple[list[float], list[float]]]) -> Record:
    """The record with these validation metrics and losses, fold by fold."""
    results = []
    for fold, (metrics, losses) in enumerate(folds):
        values = {name: np.zeros(len(metrics)) for name in CURVE_NAMES}
        values.update(validation_metric=np.array(metrics), validation_loss=np.array(losses))
        results.append(
            FoldResult(FoldKey(0, fold), Curves(**values, sizes=(8, 1, 1), higher_is_better=True), 1.0, 1.0, 10, {})
        )
    return Record(Run(record.run.info, tuple(results)), record.rules)


def test_trials_show_the_best_validation_of_each_change() -> None:
    early_stop = [([0.7, 0.8], [0.9, 0.3]), ([0.6], [0.4])]
    made = [
        with_validation(make_record("NCI1", "msh-stable", 0.0, "as it is"), early_stop),
        with_validation(make_record("PTC", "msh-stable", 0.0, "as it is"), [([0.6, 0.5], [0.7, 0.75])]),
        with_validation(make_record("NCI1", "msh-stable", 0.0, "mean readout"), [([0.5], [2.0]), ([0.6], [1.0])]),
    ]
    rows = trials(Results({}, {"phase": made}, {}, {}), "phase").splitlines()
    assert rows[0] == "| best validation, % (lowest loss) | NCI1 (2 folds) | PTC (1 fold) |"
    # The loss is that of the mean curve: (0.3 + 0.4) / 2, not the mean of each fold's best.
    assert rows[2:] == ["| as it is | 70.0 (0.350) | 60.0 (0.700) |", "| mean readout | 55.0 (1.500) | – |"]


def test_errors_stand_alone_under_the_name_of_their_cell() -> None:
    record = with_validation(
        make_record("neighbour-distribution", "msh-stable", 0.0, "sum"), [([0.3, 0.2], [0.3, 0.2])]
    )
    experiment = {**record.info.experiment, "name": "trials/distribution/one-layer/sum"}
    info = replace(record.info, experiment=experiment, metric="mse")
    made = Record(Run(info, record.run.results), record.rules)
    rows = trials(Results({}, {"distribution": [made]}, {}, {}), "distribution").splitlines()
    assert rows[0] == "| lowest validation loss | one-layer (1 fold) |"
    assert rows[2] == "| sum | 0.2000 |"
