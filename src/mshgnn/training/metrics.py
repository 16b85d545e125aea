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


def _nothing(target: Array) -> float:
    return math.nan


@dataclass(frozen=True)
class Metric:
    """One metric, by ``measure(found, truth)`` of the known values of one target."""

    name: str
    words: str
    measure: Callable[[Array, Array], float]
    higher_is_better: bool = True
    is_share: bool = True
    undefined: Callable[[Array], float] = _nothing
    """What the mean over targets is where none of them, ``[n, T]`` with some value, has the metric."""

    def compute(self, found: Array, target: Array) -> float:
        """Of classes ``[n]``, or the mean over targets of numbers ``[n, T]``, where NaN is a missing one."""
        if target.ndim == 1:
            return self.measure(found, target)
        there = [value for value in self.of_each(found, target) if not math.isnan(value)]
        if there:
            return float(np.mean(there))
        return math.nan if np.isnan(target).all() else self.undefined(target)

    def of_each(self, found: Array, target: Array) -> list[float]:
        """Of each target of numbers ``[n, T]``; NaN where it has no value, or values on which it is not defined."""
        measured = []
        for column, truth in zip(found.T.astype(np.float64), target.T.astype(np.float64), strict=True):
            known = ~np.isnan(truth)
            measured.append(self.measure(column[known], truth[known]) if known.any() else math.nan)
        return measured

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


def _roc_auc(score: Array, truth: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return _ranked(roc_auc_score, score, truth)


def _average_precision(score: Array, truth: Array) -> float:
    from sklearn.metrics import average_precision_score

    return _ranked(average_precision_score, score, truth)


def _ranked(rank: Callable[[Array, Array], float], score: Array, truth: Array) -> float:
    """Of one target; one that has not both classes is not ranked."""
    if len(np.unique(truth)) != 2:
        return math.nan
    return float(rank(truth, score if np.isfinite(score).all() else np.zeros(len(truth))))


def _chance(target: Array) -> float:
    """What equal scores get for ROC-AUC."""
    return 0.5


def _share_of_positives(target: Array) -> float:
    return float(np.nanmean(target))


def _rmse(found: Array, truth: Array) -> float:
    return float(np.sqrt(np.mean(_errors(found, truth) ** 2)))


def _mse(found: Array, truth: Array) -> float:
    return float(np.mean(_errors(found, truth) ** 2))


def _log10_mse(found: Array, truth: Array) -> float:
    """The log10 of the squared error, so that in the mean every target counts by its factor."""
    return math.log10(max(np.mean(_errors(found, truth) ** 2), SMALLEST_ERROR))


def _mae(found: Array, truth: Array) -> float:
    return float(np.mean(_errors(found, truth)))


def _r2(found: Array, truth: Array) -> float:
    """``1 - (squared error) / (squared deviation from the mean)``; a target that does not vary has none."""
    deviation = np.sum((truth - truth.mean()) ** 2)
    return float(1 - np.sum(_errors(found, truth) ** 2) / deviation) if deviation > 0 else math.nan


def _errors(found: Array, truth: Array) -> Array:
    """Absolute errors; an output that is no number is infinitely wrong."""
    error: Array = np.abs(found - truth)
    return np.nan_to_num(error, nan=np.inf, posinf=np.inf)


KNOWN_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _accuracy),
        Metric("balanced_accuracy", "balanced accuracy", _balanced_accuracy),
        Metric("f1", "macro F1", _macro_f1),
        Metric("roc_auc", "ROC-AUC", _roc_auc, undefined=_chance),
        Metric("average_precision", "average precision", _average_precision, undefined=_share_of_positives),
        Metric("rmse", "RMSE", _rmse, higher_is_better=False, is_share=False),
        Metric("mae", "MAE", _mae, higher_is_better=False, is_share=False),
        Metric("r2", "R²", _r2, is_share=False),
        Metric("mse", "MSE", _mse, higher_is_better=False, is_share=False),
        Metric("log10_mse", "log10 MSE", _log10_mse, higher_is_better=False, is_share=False),
    )
}
