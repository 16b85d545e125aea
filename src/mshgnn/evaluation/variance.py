"""Where the noise of a figure comes from: trainings that differ by their seed, and folds that differ by their items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Noise:
    """Standard deviations of one training of one fold, and the errors that they leave in the mean of all."""

    training: float
    """Between seeds of one fold."""
    items: float
    """Between folds, if each could be trained without end: what test and training items make of it."""
    seeds: int
    folds: int

    @property
    def training_error(self) -> float:
        """What more seeds would take away."""
        return self.training / math.sqrt(self.seeds * self.folds)

    @property
    def items_error(self) -> float:
        """What only more items would take away."""
        return self.items / math.sqrt(self.folds)


def split_noise(values: ArrayLike) -> Noise:
    r"""The parts of the variance of ``values [seeds, folds]``, both at least two.

    With :math:`s^2` the mean over folds of the variance between seeds, the variance of the folds' means is
    :math:`\sigma^2 + s^2 / \mathrm{seeds}`; :math:`\sigma^2` is what is left, and 0 where nothing is.
    """
    found = np.asarray(values, dtype=np.float64)
    seeds, folds = found.shape
    if seeds < 2 or folds < 2:
        raise ValueError(f"noise is split between at least two seeds and two folds, got {seeds} and {folds}")
    within = float(found.var(axis=0, ddof=1).mean())
    between = float(found.mean(axis=0).var(ddof=1))
    return Noise(math.sqrt(within), math.sqrt(max(between - within / seeds, 0.0)), seeds, folds)
