"""A record made by hand, for tests of tables."""

from __future__ import annotations

import numpy as np

from mshgnn.evaluation.rules import RULES
from mshgnn.lab.experiment import check_experiment
from mshgnn.lab.record import Record
from mshgnn.lab.runner import Run
from mshgnn.lab.store import FoldKey, FoldResult, RunInfo
from mshgnn.training.curves import CURVE_NAMES, Curves


def make_record(dataset: str, model: str, test_metric: float, about: str = "") -> Record:
    described = {"name": "x", "about": about, "dataset": {"name": dataset}, "model": {"name": model}}
    experiment = check_experiment(described, "test")
    values = {name: np.array([0.5, test_metric]) for name in CURVE_NAMES}
    curves = Curves(**values, sizes=(8, 1, 1), higher_is_better=True)
    info = RunInfo.__new__(RunInfo)
    object.__setattr__(info, "experiment", experiment)
    result = FoldResult(FoldKey(0, 0), curves, 1.0, 1.0, 10, {})
    return Record(Run(info, (result,)), {name: rule([curves]) for name, rule in RULES.items()})
