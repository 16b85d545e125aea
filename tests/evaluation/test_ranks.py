"""Ranks worked out by hand, distances against the table and the example of Demsar (2006)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mshgnn.evaluation.ranks import critical_distance, level_groups, rank_models

TABLE_5 = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}


def test_equal_scores_share_their_ranks() -> None:
    scores = [[0.9, 0.8, 0.8, 0.1], [0.5, 0.7, 0.6, 0.7], [1.0, 1.0, 1.0, 1.0]]
    by_set = np.array([[1, 2.5, 2.5, 4], [4, 1.5, 3, 1.5], [2.5, 2.5, 2.5, 2.5]])
    assert rank_models(scores).ranks == pytest.approx(tuple(by_set.mean(axis=0)))


def test_four_models_on_fourteen_sets_have_the_distances_of_the_example() -> None:
    assert critical_distance(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_distance(4, 14, level=0.10) == pytest.approx(1.12, abs=5e-3)


@pytest.mark.parametrize("level", TABLE_5)
def test_quantiles_are_those_of_the_table(level: float) -> None:
    for models, quantile in enumerate(TABLE_5[level], start=2):
        unit = math.sqrt(models * (models + 1) / (6 * 10))
        assert critical_distance(models, 10, level) / unit == pytest.approx(quantile, abs=1.5e-3)


def test_friedmans_p_is_that_of_the_formula_where_nothing_ties() -> None:
    scores = np.array([[3, 2, 1], [3, 2, 1], [2, 3, 1], [3, 1, 2]], dtype=float)
    ranks = np.array([5, 8, 11]) / 4
    chi_square = 12 * 4 / (3 * 4) * ((ranks**2).sum() - 3 * 4**2 / 4)
    found = rank_models(scores)
    assert found.ranks == tuple(ranks)
    assert found.p == pytest.approx(math.exp(-chi_square / 2))  # two degrees of freedom


@pytest.mark.parametrize(
    ("ranks", "groups"),
    [
        ([1.964, 2.0, 2.893, 3.143], [(1.964, 3.143)]),
        ([1.0, 2.0, 2.5, 3.5, 6.0], [(1.0, 2.0), (2.0, 2.5), (2.5, 3.5)]),
        ([5.0, 1.0, 3.0], []),
    ],
)
def test_groups_are_the_longest_stretches_that_do_not_differ(
    ranks: list[float], groups: list[tuple[float, float]]
) -> None:
    assert level_groups(ranks, {4: 1.25, 5: 1.1, 3: 1.5}[len(ranks)]) == groups


def test_two_models_are_a_paired_test_and_no_ranking() -> None:
    with pytest.raises(ValueError, match="three models"):
        rank_models([[0.5, 0.6], [0.7, 0.8]])
