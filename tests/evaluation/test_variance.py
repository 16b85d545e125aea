"""The split of noise on numbers made with known parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mshgnn.evaluation.variance import split_noise


def test_both_parts_are_found_again_where_there_is_much_of_both() -> None:
    random = np.random.default_rng(0)
    values = 3.0 * random.normal(size=(1, 4000)) + 2.0 * random.normal(size=(3, 4000))
    found = split_noise(values)
    assert found.training == pytest.approx(2.0, rel=0.03)
    assert found.items == pytest.approx(3.0, rel=0.03)
    assert found.training_error == pytest.approx(found.training / math.sqrt(12_000))
    assert found.items_error == pytest.approx(found.items / math.sqrt(4000))


def test_by_hand() -> None:
    found = split_noise([[1.0, 5.0], [3.0, 5.0]])
    assert found.training == pytest.approx(1.0)  # variances 2 and 0
    assert found.items == pytest.approx(math.sqrt(4.5 - 0.5))  # means 2 and 5, half of 1 taken out


def test_folds_that_differ_less_than_their_seeds_leave_nothing_for_the_graphs() -> None:
    assert split_noise([[0.0, 1.0], [1.0, 0.0]]).items == 0.0


@pytest.mark.parametrize("shape", [(1, 10), (3, 1)])
def test_one_seed_or_one_fold_is_no_split(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least two seeds and two folds"):
        split_noise(np.zeros(shape))
