"""Metrics of a training in the units of the file.

Targets that are regressed are learnt in units of the training part's deviation. The metric of one target is brought
back; a mean over several targets cannot be, and says so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mshgnn.data.schema import Schema
from mshgnn.training.metrics import Array

IN_DEVIATIONS = ("rmse", "mae", "mse", "log10_mse")
"""Metrics of numbers that change with the unit of the targets; R² does not."""


class Units(NamedTuple):
    """What brings a metric into the units of the file: ``factor * value + summand``."""

    factor: float = 1.0
    summand: float = 0.0
    mixed: bool = False
    """The metric stays in deviations of the training part, for it is a mean over several targets."""

    @classmethod
    def of(cls, metric: str, schema: Schema) -> Units:
        """Those of a model's metric; ``schema`` is that of its training part."""
        if metric not in IN_DEVIATIONS or not schema.target_std:
            return cls()
        if len(schema.target_std) > 1:
            return cls(mixed=True)
        (deviation,) = schema.target_std
        if metric == "log10_mse":
            return cls(summand=2 * math.log10(deviation))
        return cls(factor=deviation**2 if metric == "mse" else deviation)

    def restore(self, value: float) -> float:
        """A figure in the units of the file."""
        return self.factor * value + self.summand

    def restore_all(self, values: Array) -> Array:
        """The same for a curve."""
        return self.factor * values + self.summand
