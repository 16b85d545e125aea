"""Subjects as a page takes them, made up, so that no test has to train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mshgnn.evaluation.rules import RULES, evaluate
from mshgnn.report.page.contents import (
    FoldCurves,
    Intervals,
    Items,
    Measured,
    NewData,
    Response,
    Shown,
    Subject,
    Weighted,
)
from mshgnn.report.page.drawing import Drawing, laid_out, pack
from mshgnn.training.curves import CURVE_NAMES, Curves

RING = [(i, (i + 1) % 6) for i in range(6)]
DRAWING = pack(Drawing(laid_out(6, RING), RING, [0, 1, 0, 2, 0, 0]))


def curves(epochs: int = 20, seed: int = 0, sizes: tuple[int, int, int] = (80, 10, 10)) -> Curves:
    random = np.random.default_rng(seed)
    loss = np.exp(-np.linspace(0, 2, epochs)) + 0.05 * random.random(epochs)
    metric = 1 - 0.5 * loss
    return Curves(loss, loss, loss, metric, metric, metric, sizes)


def fold_curves(folds: int) -> tuple[FoldCurves, ...]:
    made = [curves(seed=fold) for fold in range(folds)]
    names = [{name: tuple(getattr(one, name).tolist()) for name in CURVE_NAMES} for one in made]
    return tuple(FoldCurves(f"fold {number + 1}", series, 12) for number, series in enumerate(names))


def shown(count: int, drawing: str | None = DRAWING) -> Shown:
    random = np.random.default_rng(1)
    return Shown(
        items=tuple(range(count)),
        components=random.normal(size=(count, 8)),
        distances=tuple(random.random(count).tolist()),
        drawings=(drawing,) * count,
        vocabulary=("C", "N", "O"),
        responses=(Response(("ω = 1", "ω = 2"), (0.7, 0.3), (0.6, 0.2), (0.8, 0.4)),) * 2,
        weights_are="the readout's gate α",
        weighted=(Weighted(0, ((0.0, 0.2, 0.4, 0.6, 0.8, 1.0),) * 2),),
    )


def classes(count: int = 90, folds: int = 3, names: tuple[str, ...] = ("alkane", "alcohol", "<b>ether</b>")) -> Subject:
    """A classification with everything that a trained model's folder holds."""
    random = np.random.default_rng(0)
    truth = random.integers(0, len(names), count)
    values = random.dirichlet(np.ones(len(names)), count) + 1.5 * np.eye(len(names))[truth] * random.random((count, 1))
    values /= values.sum(axis=1, keepdims=True)
    items = Items(
        tuple(range(count)), tuple(row * folds // count for row in range(count)), truth[:, None].astype(float), values
    )
    one_seed = [[curves(seed=fold) for fold in range(folds)]]
    return Subject(
        name="msh-stable",
        source="model",
        model="msh-stable",
        dataset="molecules.csv",
        task="graph",
        metric_name="accuracy",
        headline=Measured("msh-stable", tuple(0.8 + 0.02 * fold for fold in range(folds))),
        rule="The epoch is the one that is best on validation; test parts chose nothing.",
        folds=fold_curves(folds),
        controls=(Measured("majority", tuple(0.6 + 0.01 * fold for fold in range(folds))),),
        rules={name: evaluate(rule, one_seed) for name, rule in RULES.items()},
        pairing="same",
        objective="classify",
        class_names=names,
        target_names=("kind",),
        items=items,
        shown=shown(count),
        new_data=NewData("new.csv", (0, 1, 3), (0.2, 1.7, 0.9), ("alkane", "alcohol", "alkane"), 1),
        facts=(("model", "msh-stable"), ("seed", "0"), ("torch", "2.13.0")),
        config="data: molecules.csv\n",
    )


def numbers(count: int = 80, targets: int = 1, folds: int = 1) -> Subject:
    """A regression."""
    random = np.random.default_rng(0)
    truth = random.normal(size=(count, targets))
    values = truth + 0.3 * random.normal(size=(count, targets))
    truth[0, 0] = np.nan
    return replace(
        classes(count, folds),
        metric_name="rmse",
        objective="regress",
        class_names=(),
        target_names=tuple(f"property {number}" for number in range(targets)),
        items=Items(tuple(range(count)), tuple(row * folds // count for row in range(count)), truth, values),
        intervals=Intervals(0.9, (0.5,) * targets),
        headline=Measured("msh-stable", (0.31,) * folds),
        controls=(Measured("mean", (1.02,) * folds),),
    )


def bare(subject: Subject) -> Subject:
    """The same as a run of the lab would give it: curves and figures, no items."""
    return replace(subject, source="run", items=None, shown=None, new_data=None, intervals=None, objective="")
