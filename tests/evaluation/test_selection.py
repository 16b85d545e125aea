"""Choosing over all folds and in each fold alone, where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import sem

from mshgnn.evaluation.selection import compare_choices, reused


def test_each_way_chooses_by_its_own_validation() -> None:
    validation = np.array([[0.9, 0.2, 0.9], [0.7, 0.8, 0.6]])  # means 0.67 and 0.70
    test = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    found = compare_choices(validation, test)
    assert found.over_folds.tolist() == [0.4, 0.5, 0.6]
    assert found.nested.tolist() == [0.1, 0.5, 0.3]
    assert found.difference == pytest.approx(0.2)
    assert found.standard_error == pytest.approx(sem([0.3, 0.0, 0.3]))


def test_tied_options_are_averaged_whatever_the_order_of_their_folds() -> None:
    validation = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.0, 0.0, 0.0]])
    test = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    found = compare_choices(validation, test)
    assert found.over_folds.tolist() == [0.5, 0.5, 0.5]
    assert found.nested.tolist() == [1.0, 0.5, 0.0]


def test_an_option_that_diverged_is_not_chosen() -> None:
    found = compare_choices(np.array([[np.nan, 0.9], [0.1, 0.1]]), np.array([[5.0, 6.0], [1.0, 2.0]]))
    assert found.over_folds.tolist() == [1.0, 2.0]
    assert found.nested.tolist() == [1.0, 6.0]


def noise(seed: int, options: int = 12, folds: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Options without any difference, in splits where the test part of each fold validates the fold before."""
    test = np.random.default_rng(seed).normal(size=(options, folds))
    return np.roll(test, -1, axis=1), test


def test_among_equal_options_the_choice_over_folds_is_optimistic_and_the_nested_one_is_not() -> None:
    found = [compare_choices(*noise(seed)) for seed in range(400)]
    over_folds = [choices.over_folds.mean() for choices in found]
    nested = [choices.nested.mean() for choices in found]
    # Over folds it reports the largest of twelve means of ten: 1.629 deviations of 1 / sqrt(10).
    assert np.mean(over_folds) == pytest.approx(1.629 / math.sqrt(10), abs=5 * sem(over_folds))
    assert np.mean(nested) == pytest.approx(0.0, abs=5 * sem(nested))


def test_without_reuse_neither_is_optimistic() -> None:
    found = [compare_choices(noise(seed)[0], noise(seed + 1000)[1]) for seed in range(400)]
    for values in ([choices.over_folds.mean() for choices in found], [choices.nested.mean() for choices in found]):
        assert np.mean(values) == pytest.approx(0.0, abs=5 * sem(values))


@pytest.mark.parametrize(("options", "folds"), [(1, 1), (2, 6), (5, 3)])
def test_the_order_of_options_does_not_matter_and_copies_of_all_change_nothing(options: int, folds: int) -> None:
    validation, test = noise(0, options, folds)
    expected = compare_choices(validation, test)
    twice = compare_choices(np.concatenate([validation, validation[::-1]]), np.concatenate([test, test[::-1]]))
    np.testing.assert_allclose(twice.over_folds, expected.over_folds)
    np.testing.assert_allclose(twice.nested, expected.nested)


def test_one_fold_has_no_standard_error_and_one_option_no_difference() -> None:
    assert math.isnan(compare_choices(np.ones((2, 1)), np.ones((2, 1))).standard_error)
    assert compare_choices(np.ones((1, 3)), np.arange(3.0)[None]).difference == 0.0


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((3,), (3,)), ((0, 3), (0, 3))])
def test_arrays_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="options, folds"):
        compare_choices(np.ones(shapes[0]), np.ones(shapes[1]))


def test_reused_items_are_counted_once() -> None:
    assert reused([[1, 2], [2, 9]], [[3, 4], [1, 2]]) == (2, 4)
    assert reused([[7]], [[1, 2]]) == (0, 2)
