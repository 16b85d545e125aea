"""What cells take on one core: as recorded, or guessed from what is recorded of the same model and of other sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from mshgnn.records.record import Record
from mshgnn.reproduction.results import count_folds

RULER = "gcn"
"""The model whose times say how much longer one data set takes than another."""


@dataclass(frozen=True)
class Times:
    """Seconds of an epoch of one fold, by the records there are: ``(data set, model) -> seconds``."""

    epochs: Mapping[tuple[str, str], float]
    folds: Mapping[str, int]
    """By data set: the most folds that any model was given."""

    def epoch(self, dataset: str, model: str) -> float | None:
        """Measured, or what the model took on other sets times how much longer :data:`RULER` takes on this one.

        For what is more than linear in the size of a graph that is too little where graphs are larger.
        """
        if (dataset, model) in self.epochs:
            return self.epochs[dataset, model]
        here = self.epochs.get((dataset, RULER))
        if here is None:
            return None
        there = [
            seconds * here / self.epochs[other, RULER]
            for (other, name), seconds in self.epochs.items()
            if name == model and self.epochs.get((other, RULER))
        ]
        return median(there) if there else None


def recorded_times(records: Iterable[Record]) -> Times:
    """The times of runs of any suite; of several runs of one model on one set the median counts."""
    seconds: dict[tuple[str, str], list[float]] = {}
    folds: dict[str, int] = {}
    for record in records:
        info, epochs = record.info, sum(result.curves.epochs for result in record.run.results)
        seconds.setdefault((info.dataset, info.model), []).append(record.seconds / epochs)
        folds[info.dataset] = max(folds.get(info.dataset, 0), count_folds(record))
    return Times({cell: median(found) for cell, found in seconds.items()}, folds)
