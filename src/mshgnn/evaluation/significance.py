"""The corrected resampled t-test of Nadeau and Bengio (2003): are two models different, fold by fold?

Folds share most of their training items, so their differences are not independent and the plain standard error
``s / sqrt(k)`` is too small. The correction puts the overlap into the variance of the mean of ``k`` differences:
``(1 / k + n_test / n_train) s^2``, which is then read as Student's ``t`` with ``k - 1`` degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

LEVEL = 0.05
"""Differences with a smaller ``p`` are called significant."""


@dataclass(frozen=True)
class PairedDifference:
    """The mean of ``folds`` differences, its corrected standard error, and the two-sided ``p`` of no difference."""

    mean: float
    error: float
    p: float
    folds: int

    @property
    def significant(self) -> bool:
        """Whether chance alone would rarely give such a difference."""
        return self.p < LEVEL


def corrected_difference(first: ArrayLike, second: ArrayLike, test_per_train: float) -> PairedDifference:
    """``first - second`` of shape ``[k]``, fold by fold (or fold by fold of every seed).

    ``test_per_train`` is ``n_test / n_train``. Folds that all differ by the same amount leave no error: ``p`` is 1
    where that amount is zero, else 0.
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    folds = len(differences)
    if folds < 2:
        raise ValueError(f"a paired test needs at least two folds, got {folds}")
    mean = float(differences.mean())
    error = math.sqrt(1 / folds + test_per_train) * float(differences.std(ddof=1))
    if error == 0:
        return PairedDifference(mean, error, 1.0 if mean == 0 else 0.0, folds)
    return PairedDifference(mean, error, float(2 * student.sf(abs(mean) / error, folds - 1)), folds)
