"""Runs and records made by hand, without any training."""

from __future__ import annotations

import numpy as np

from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey, FoldResult, Run, RunInfo
from mshgnn.training.curves import CURVE_NAMES, Curves


def make_info(
    keys: tuple[FoldKey, ...], dataset: str, model: str, metric: str = "accuracy", about: str = ""
) -> RunInfo:
    return RunInfo(
        experiment={
            "name": f"{dataset}-{model}",
            "about": about,
            "dataset": {"name": dataset},
            "model": {"name": model, **({"rank": 2} if model == "msh-stable" else {})},
        },
        keys=keys,
        task="graph",
        metric=metric,
        dataset_checksum="data",
        splits_name="own",
        splits_checksum="splits",
        environment={"torch": "2"},
    )


def make_run(
    folds: int = 3,
    epochs: int = 20,
    seeds: tuple[int, ...] = (0,),
    metric: str = "accuracy",
    sizes: tuple[int, int, int] = (3000, 411, 411),
) -> Run:
    """Curves like real ones: random walks, losses of any digits, metrics that are shares of a count."""
    info = make_info(tuple(FoldKey(seed, fold) for seed in seeds for fold in range(folds)), "tiny", "gcn", metric)
    generator = np.random.default_rng(0)
    results = []
    for key in info.keys:
        arrays = {}
        for name in CURVE_NAMES:
            walk = 0.5 + generator.normal(scale=0.02, size=epochs).cumsum()
            arrays[name] = np.abs(walk) if name.endswith("loss") else np.round(np.clip(walk, 0, 1) * 411) / 411
        results.append(
            FoldResult(
                key, Curves(**arrays, sizes=sizes, higher_is_better=True), 1.23456, 321.09876, 42, info.environment
            )
        )
    return Run(info, tuple(results))


def make_record(dataset: str, model: str, test_metric: float, about: str = "") -> Record:
    """One fold of two epochs: every curve has 0.5, then ``test_metric``."""
    info = make_info((FoldKey(0, 0),), dataset, model, about=about)
    curves = Curves(
        **{name: np.array([0.5, test_metric]) for name in CURVE_NAMES}, sizes=(8, 1, 1), higher_is_better=True
    )
    return Record(Run(info, (FoldResult(FoldKey(0, 0), curves, 1.0, 1.0, 10, {}),)), {})
