"""What the harness adds to pure training steps: measured, so that it stays small."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.splits import Split
from mshgnn.training.loop import make_optimiser, prepare, train_epoch, train_fold
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings


class HarnessOverhead(NamedTuple):
    """Processor seconds an epoch. ``ratio`` must stay below 1.15; evaluation is extra work, told apart."""

    pure: float
    harness: float
    evaluated: float

    @property
    def ratio(self) -> float:
        """Time of an epoch of shuffling, batching and training over training on batches made beforehand."""
        return self.harness / self.pure

    @property
    def evaluation_ratio(self) -> float:
        """Time of a whole epoch, all three parts measured, over pure training."""
        return self.evaluated / self.pure


def harness_overhead(
    model: nn.Module, dataset: GraphDataset, split: Split, *, epochs: int = 10, repeats: int = 7
) -> HarnessOverhead:
    """Time the three kinds of epoch in turns and keep the best of each, on one thread."""
    settings = TrainingSettings(epochs=epochs)
    with one_thread(0):
        fold = prepare(dataset, split, settings)
        prepared = list(fold.steps(torch.Generator().manual_seed(0)))
        optimiser = make_optimiser(model, settings)
        generator = torch.Generator().manual_seed(0)

        def pure() -> None:
            for _ in range(epochs):
                train_epoch(model, fold._replace(steps=lambda _: iter(prepared)), optimiser, settings, generator)

        def harness() -> None:
            for _ in range(epochs):
                train_epoch(model, fold, optimiser, settings, generator)

        def evaluated() -> None:
            train_fold(model, dataset, split, settings, seed=0)

        best = [float("inf")] * 3
        for _ in range(repeats):
            for index, run in enumerate((pure, harness, evaluated)):
                best[index] = min(best[index], _seconds(run))
    return HarnessOverhead(*(seconds / epochs for seconds in best))


def _seconds(run: Callable[[], None]) -> float:
    """Processor time: on one thread that is the work done, however busy the machine is."""
    started = time.process_time()
    run()
    return time.process_time() - started
