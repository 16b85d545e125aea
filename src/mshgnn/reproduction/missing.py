"""Why a table has a dash: too much memory, too many hours, or nothing but that nobody has run it yet."""

from __future__ import annotations

from fnmatch import fnmatchcase

from mshgnn.reproduction.cost import RULER, recorded_times
from mshgnn.reproduction.results import Results

BUDGET = 4.0
"""Core-hours that all folds of one model on one set may take."""
REASONS = "not-run"
"""The file ``results/not-run.json``: by pattern of ``DATASET/MODEL`` a reason in a word or two, such as ``memory``."""


class Missing:
    """What stands in the place of figures that are not there."""

    def __init__(self, results: Results) -> None:
        self._records = results.records
        self._reasons: dict[str, str] = results.measurements.get(REASONS, {})
        self._times = recorded_times([*results.records.values(), *results.first_folds.values()])

    def dash(self, dataset: str, model: str) -> str:
        """A dash, with the reason that is written down or the hours by which the budget is exceeded."""
        for pattern, reason in self._reasons.items():
            if fnmatchcase(f"{dataset}/{model}", pattern):
                return f"– ({reason})"
        hours = self.hours(dataset, model)
        return "–" if hours is None or hours <= BUDGET else f"– ({hours:,.0f} h)"

    def hours(self, dataset: str, model: str) -> float | None:
        """Core-hours of all folds with the epochs of :data:`RULER`; ``None`` where there is nothing to guess by."""
        ruler, epoch = self._records.get((dataset, RULER)), self._times.epoch(dataset, model)
        if ruler is None or epoch is None:
            return None
        return epoch * sum(result.curves.epochs for result in ruler.run.results) / 3600
