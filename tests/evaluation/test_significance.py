"""The corrected test against values worked out by hand, and against scipy where nothing overlaps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from mshgnn.evaluation.significance import corrected_difference


def test_without_overlap_it_is_the_ordinary_paired_t_test() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 10))
    found, known = corrected_difference(first, second, test_per_train=0.0), ttest_rel(first, second)
    assert found.mean / found.error == pytest.approx(known.statistic)
    assert found.p == pytest.approx(known.pvalue)


def test_overlap_widens_the_error_as_worked_out_by_hand() -> None:
    # Differences 1, 2, 3, 4, 5: mean 3, variance 2.5. Five folds of 8 training and 2 test items: 1/5 + 2/8 = 0.45.
    found = corrected_difference([2, 4, 6, 8, 10], [1, 2, 3, 4, 5], test_per_train=2 / 8)
    assert found.mean == 3
    assert found.error == pytest.approx(math.sqrt(0.45 * 2.5))
    # Student's t with 4 degrees has the tail 1/2 - x (1 + 1/(2 s)) / (2 sqrt(s)) at t = 2 x, s = 1 + x^2.
    x = 3 / math.sqrt(0.45 * 2.5) / 2
    s = 1 + x**2
    assert found.p == pytest.approx(2 * (0.5 - x / math.sqrt(s) * (1 + 1 / (2 * s)) / 2))
    assert found.significant


def test_the_correction_can_undo_what_the_plain_test_calls_a_difference() -> None:
    ours, theirs = [0.9, 0.8, 0.85, 0.9, 0.7], [0.87, 0.79, 0.85, 0.88, 0.66]
    assert corrected_difference(ours, theirs, 0.0).significant
    assert not corrected_difference(ours, theirs, 1 / 4).significant


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (0.25, 0.0)])
def test_equal_differences_leave_no_error(shift: float, p: float) -> None:
    found = corrected_difference([0.5 + shift] * 3, [0.5] * 3, 1 / 9)
    assert (found.mean, found.error, found.p) == (shift, 0.0, p)


def test_one_fold_is_no_test() -> None:
    with pytest.raises(ValueError, match="at least two folds"):
        corrected_difference([0.5], [0.4], 1 / 9)
