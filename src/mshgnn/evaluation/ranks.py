"""Many models over many data sets: average ranks, Friedman's test and Nemenyi's critical distance (Demsar, 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from mshgnn.evaluation.significance import LEVEL


@dataclass(frozen=True)
class Ranking:
    """Average ranks of ``k`` models over ``sets`` data sets, 1 the best, and what chance alone could make of them."""

    ranks: tuple[float, ...]
    sets: int
    p: float
    """Friedman's: how likely ranks so far apart are where all models are alike."""
    distance: float
    """Nemenyi's: two average ranks at least so far apart differ significantly."""


def rank_models(scores: ArrayLike) -> Ranking:
    """``scores`` has shape ``[sets, models]``, more is better; equal scores share their ranks."""
    values = np.asarray(scores, dtype=np.float64)
    sets, models = values.shape
    if sets < 2 or models < 3:
        raise ValueError(f"ranks need at least two sets and three models, got {sets} and {models}")
    ranks = rankdata(-values, axis=1).mean(axis=0)
    p = float(friedmanchisquare(*values.T).pvalue)
    return Ranking(tuple(ranks.tolist()), sets, p, critical_distance(models, sets))


def critical_distance(models: int, sets: int, level: float = LEVEL) -> float:
    """Nemenyi's ``q sqrt(k (k + 1) / (6 N))`` of ``k`` models on ``N`` sets.

    ``q`` is the quantile of the studentised range with infinitely many degrees of freedom, over the root of two.
    """
    q = float(studentized_range.ppf(1 - level, models, np.inf)) / math.sqrt(2)
    return q * math.sqrt(models * (models + 1) / (6 * sets))


def level_groups(ranks: Sequence[float], distance: float) -> list[tuple[float, float]]:
    """The longest stretches of average ranks, from best to worst, within which no two models differ.

    A stretch has at least two models and lies in no longer one.
    """
    ordered = sorted(ranks)
    groups: list[tuple[float, float]] = []
    for start, best in enumerate(ordered):
        reach = [rank for rank in ordered[start:] if rank - best < distance]
        if len(reach) > 1 and (not groups or reach[-1] > groups[-1][1]):
            groups.append((best, reach[-1]))
    return groups
