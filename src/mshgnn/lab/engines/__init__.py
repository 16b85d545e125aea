"""Engines: where folds run. Each turns jobs into results; the runner stores them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from mshgnn.lab.fold import FoldJob
from mshgnn.lab.setup import LoadedData
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.loop import EpochReport

OnProgress = Callable[[FoldKey, EpochReport], None]


class Engine(Protocol):
    """Runs jobs in any order and yields each result as soon as it is there."""

    def run(self, jobs: Sequence[FoldJob], data: LoadedData, on_progress: OnProgress) -> Iterator[FoldResult]:
        """Results of all jobs; leaving the loop early stops the rest."""
        ...
