"""Metrics: how each is computed, in which direction it is better, and how it is written.

Plain numpy, so that a table can ask how a figure is written without loading torch. With several targets a metric is the
mean over them. What a model gets whose outputs are not numbers:

- classes: the item is wrong;
- rankings: what equal scores get, 0.5 for ROC-AUC and the share of positives for average precision. The same holds
  where no target has both classes, so that there is nothing to rank;
- errors: infinity, and minus infinity for R².

Where nothing is labelled the metric is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SMALLEST_ERROR = 1e-30
"""What no error at all counts as where its logarithm is taken."""


@dataclass(frozen=True)
class Metric:
    """One metric. ``compute(found, target)`` takes classes ``[n]``, or numbers ``[n, T]``: a missing target is NaN."""

    name: str
    words: str
    compute: Callable[[Array, Array], float]
    higher_is_better: bool = True
    is_share: bool = True

    def as_text(self, value: float) -> str:
        """``87.25 %`` for a share; four significant digits for anything else."""
        if not math.isfinite(value):
            return str(value)
        if self.is_share:
            return f"{100 * value:.2f} %"
        if value != 0 and abs(value) < 1e-4:
            return f"{value:.3e}"
        whole_digits = math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{max(0, 3 - whole_digits)}f}"


def _accuracy(found: Array, target: Array) -> float:
    return float(np.mean(found == target)) if len(target) else math.nan


def _balanced_accuracy(found: Array, target: Array) -> float:
    """Mean over the classes of the target of the share found."""
    shares = [np.mean(found[target == one] == one) for one in np.unique(target)]
    return float(np.mean(shares)) if shares else math.nan


def _macro_f1(found: Array, target: Array) -> float:
    """Mean over the classes that are there, or were named, of ``2 right / (there + named)``; -1 names no class."""
    classes = np.union1d(target, found[found >= 0])
    shares = [
        2 * np.sum((found == one) & (target == one)) / (np.sum(found == one) + np.sum(target == one)) for one in classes
    ]
    return float(np.mean(shares)) if len(target) else math.nan


def _roc_auc(score: Array, target: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return _mean_ranking(roc_auc_score, score, target, chance=0.5)


def _average_precision(score: Array, target: Array) -> float:
    from sklearn.metrics import average_precision_score

    return _mean_ranking(average_precision_score, score, target, chance=None)


def _mean_ranking(rank: Callable[[Array, Array], float], score: Array, target: Array, chance: float | None) -> float:
    """The mean over the targets that have both classes; where none has, ``chance`` or the share of positives."""
    if np.isnan(target).all():
        return math.nan
    ranked = []
    for column, truth in zip(score.T, target.T, strict=True):
        known = ~np.isnan(truth)
        if len(np.unique(truth[known])) == 2:
            usable = np.isfinite(column[known]).all()
            ranked.append(rank(truth[known], column[known] if usable else np.zeros(known.sum())))
    if not ranked:
        return float(np.nanmean(target)) if chance is None else chance
    return float(np.mean(ranked))


def _rmse(found: Array, target: Array) -> float:
    return _mean_error(lambda error, _: float(np.sqrt(np.mean(error**2))), found, target)


def _mse(found: Array, target: Array) -> float:
    return _mean_error(lambda error, _: float(np.mean(error**2)), found, target)


def _log10_mse(found: Array, target: Array) -> float:
    """The mean over targets of the log10 of the squared error, so that every target counts by its factor."""
    return _mean_error(lambda error, _: math.log10(max(np.mean(error**2), SMALLEST_ERROR)), found, target)


def _mae(found: Array, target: Array) -> float:
    return _mean_error(lambda error, _: float(np.mean(error)), found, target)


def _r2(found: Array, target: Array) -> float:
    """``1 - (squared error) / (squared deviation from the mean)``; a target that does not vary has none."""

    def explained(error: Array, truth: Array) -> float:
        deviation = np.sum((truth - truth.mean()) ** 2)
        return float(1 - np.sum(error**2) / deviation) if deviation > 0 else math.nan

    return _mean_error(explained, found, target)


def _mean_error(measure: Callable[[Array, Array], float], found: Array, target: Array) -> float:
    """The mean over targets of ``measure(absolute errors, truth)``; targets without a value are left out."""
    measured = []
    for column, truth in zip(found.T.astype(np.float64), target.T.astype(np.float64), strict=True):
        known = ~np.isnan(truth)
        if known.any():
            error = np.abs(column[known] - truth[known])
            measured.append(measure(np.nan_to_num(error, nan=np.inf, posinf=np.inf), truth[known]))
    there = [value for value in measured if not math.isnan(value)]
    return float(np.mean(there)) if there else math.nan


KNOWN_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _accuracy),
        Metric("balanced_accuracy", "balanced accuracy", _balanced_accuracy),
        Metric("f1", "macro F1", _macro_f1),
        Metric("roc_auc", "ROC-AUC", _roc_auc),
        Metric("average_precision", "average precision", _average_precision),
        Metric("rmse", "RMSE", _rmse, higher_is_better=False, is_share=False),
        Metric("mae", "MAE", _mae, higher_is_better=False, is_share=False),
        Metric("r2", "R²", _r2, is_share=False),
        Metric("mse", "MSE", _mse, higher_is_better=False, is_share=False),
        Metric("log10_mse", "log10 MSE", _log10_mse, higher_is_better=False, is_share=False),
    )
}
