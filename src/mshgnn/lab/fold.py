"""One fold of one seed, wherever it runs: build, train, measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import nn

from mshgnn.lab.experiment import Experiment
from mshgnn.lab.registry import CONTROLS
from mshgnn.lab.setup import LoadedData, build_model
from mshgnn.machine import environment, peak_memory_mb, reset_peak_memory
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.curves import CURVE_NAMES, Curves
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.parallel import ALONE, Workers
from mshgnn.training.seeding import fold_seed, one_thread


@dataclass(frozen=True)
class FoldJob:
    """What an engine is given to do; small enough to be sent anywhere."""

    experiment: Experiment
    key: FoldKey


OnEpoch = Callable[[EpochReport], None]


def run_fold(
    job: FoldJob,
    data: LoadedData,
    on_epoch: OnEpoch | None = None,
    *,
    checkpoint: Checkpoint | None = None,
    workers: Workers = ALONE,
) -> FoldResult:
    """Train (or fit) the experiment's model on one fold; the result names the machine that did it.

    Several ``workers`` that call this alike train it together; where a ``checkpoint`` is given, they go on from it.
    """
    reset_peak_memory()
    started = time.perf_counter()
    if job.experiment.model.name in CONTROLS:
        curves, parameters = _fit_control(job, data), 0
    else:
        model, curves = train_model(job, data, on_epoch, checkpoint=checkpoint, workers=workers)
        parameters = sum(parameter.numel() for parameter in model.parameters())
    seconds = time.perf_counter() - started + (0.0 if checkpoint is None else checkpoint.seconds_before)
    where = environment() | ({"workers": str(workers.size)} if workers.are_several else {})
    return FoldResult(job.key, curves, seconds, peak_memory_mb(), parameters, where)


def train_model(
    job: FoldJob,
    data: LoadedData,
    on_epoch: OnEpoch | None = None,
    *,
    checkpoint: Checkpoint | None = None,
    workers: Workers = ALONE,
) -> tuple[nn.Module, Curves]:
    """The model after its last epoch, and its curves."""
    seed = fold_seed(*job.key)
    dataset, split = data.of_fold(job.key.fold)
    with one_thread(seed):
        model = build_model(job.experiment, dataset, split.train)
    settings = job.experiment.training
    curves = train_fold(model, dataset, split, settings, seed, on_epoch, checkpoint=checkpoint, workers=workers)
    return model, curves


def _fit_control(job: FoldJob, data: LoadedData) -> Curves:
    """A control has no epochs: its curves have one point, so that every rule applies. Its loss is 1 - accuracy."""
    dataset, split = data.of_fold(job.key.fold)
    with one_thread(fold_seed(*job.key)):
        control = CONTROLS[job.experiment.model.name]()
        target = dataset.labels()
        graphs = [[dataset.graphs[index] for index in part.tolist()] for part in split]
        control.fit(graphs[0], target[split.train].numpy())
        right = [
            float(np.mean(np.asarray(control.predict(members)) == target[part].numpy())) if members else 0.0
            for members, part in zip(graphs, split, strict=True)
        ]
    points = [np.array([value]) for value in (*(1 - share for share in right), *right)]
    sizes = (len(split.train), len(split.validation), len(split.test))
    return Curves(**dict(zip(CURVE_NAMES, points, strict=True)), sizes=sizes, higher_is_better=True)
