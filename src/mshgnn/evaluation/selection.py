"""Two ways to choose one of several options on validation, and what each reports on test.

In :math:`K`-fold splits the graphs that test one fold validate others. An option chosen by the mean of *all* folds'
validation metrics has therefore been chosen with test labels. A nested choice has not: in each fold it looks at that
fold's validation part alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mshgnn.training.curves import oriented

Values = NDArray[np.float64]


class Choices(NamedTuple):
    """The test metric of every fold, ``[folds]``, by how its option was chosen."""

    over_folds: Values
    nested: Values

    @property
    def difference(self) -> float:
        """How much more the choice over all folds reports."""
        return float((self.over_folds - self.nested).mean())

    @property
    def standard_error(self) -> float:
        """Of the difference, paired by fold; not a number for a single fold."""
        folds = len(self.nested)
        if folds < 2:
            return math.nan
        return float((self.over_folds - self.nested).std(ddof=1) / math.sqrt(folds))


def compare_choices(validation: Values, test: Values) -> Choices:
    r"""Choose an option over all folds, and again in each fold alone.

    With validation metrics :math:`a_{ok}` and test metrics :math:`b_{ok}` of option :math:`o` in fold :math:`k`, the
    first reports :math:`b_{o^* k}` with :math:`o^* = \arg\max_o \sum_k a_{ok}`, the second :math:`b_{o_k k}` with
    :math:`o_k = \arg\max_o a_{ok}`. Tied options are averaged.

    Args:
        validation: ``[options, folds]``, larger is better; one that is not a number is as bad as can be.
        test: ``[options, folds]``.
    """
    if validation.ndim != 2 or validation.shape != test.shape or not validation.size:
        raise ValueError(f"validation and test must be [options, folds], not {validation.shape} and {test.shape}")
    ranked = oriented(validation, higher_is_better=True)
    means = ranked.mean(axis=1)
    # The order of a sum changes its last bits: means that differ by less are equal.
    best = np.isclose(means, means.max(), rtol=0.0, atol=1e-12)
    nested = [column[chosen == chosen.max()].mean() for column, chosen in zip(test.T, ranked.T, strict=True)]
    return Choices(test[best].mean(axis=0), np.array(nested))


def reused(validation: Sequence[Iterable[int]], test: Sequence[Iterable[int]]) -> tuple[int, int]:
    """How many items of all test parts are also in a validation part of some fold, and how many there are."""
    validates, tests = ({item for part in parts for item in part} for parts in (validation, test))
    return len(validates & tests), len(tests)
