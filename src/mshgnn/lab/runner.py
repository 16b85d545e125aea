"""Running an experiment: what is missing is computed, what is there is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from mshgnn.lab.engines import Engine
from mshgnn.lab.engines.local import LocalEngine
from mshgnn.lab.engines.together import TogetherEngine
from mshgnn.lab.errors import ExperimentError, NothingFinished
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.fold import FoldJob
from mshgnn.lab.setup import LoadedData, check_model, load_data
from mshgnn.lab.store import RunStore
from mshgnn.lab.workers import decide_workers, parse_workers
from mshgnn.machine import environment
from mshgnn.records.run import CUT_DEGREES_VERSION, NUMBERS_VERSION, FoldKey, FoldResult, Run, RunInfo
from mshgnn.training.loop import EpochReport
from mshgnn.training.parallel import ALONE, Workers

EngineName = Literal["local", "ray"]


class Display(Protocol):
    """Who watches a run."""

    def begin(self, info: RunInfo, finished: int) -> None:
        """The run starts; ``finished`` folds are there already."""

    def epoch(self, key: FoldKey, report: EpochReport) -> None:
        """A fold has trained one epoch more."""

    def fold(self, result: FoldResult) -> None:
        """A fold is finished and stored."""

    def end(self) -> None:
        """The run is over, whole or not."""


def default_folder(experiment: Experiment) -> Path:
    """``runs/NAME-DIGEST``: the same experiment finds its own folder again."""
    return Path("runs") / f"{experiment.name}-{experiment.digest}"


def run_experiment(
    experiment: Experiment,
    folder: Path,
    display: Display,
    *,
    jobs: str = "1",
    engine: EngineName = "local",
    ray_address: str | None = None,
    ray_workers: int | None = None,
    workers: Workers = ALONE,
    say: Callable[[str], None] = lambda line: None,
) -> Run:
    """Run every fold that ``folder`` does not hold yet, storing each as soon as it is finished.

    Each fold is trained by all ``workers`` together, of which this is the first; or by ``ray_workers`` of a cluster.
    ``say`` is told beforehand what a step on a large graph will take.
    """
    data = load_data(experiment)
    if forecast := check_model(experiment, data.dataset):
        say(forecast)
    info = run_info(experiment, data)
    store = RunStore(folder)
    with store.lock():
        store.begin(info)
        finished = {result.key: result for result in store.results()}
        todo = [FoldJob(experiment, key) for key in info.keys if key not in finished]
        chosen: Engine
        if workers.are_several:
            chosen = TogetherEngine(workers, folder, info.digest)
        elif engine == "ray" and ray_workers is not None:
            from mshgnn.lab.engines.ray_train import RayTrainEngine  # an optional extra

            chosen = RayTrainEngine(ray_workers, ray_address, folder, info.digest)
        else:
            chosen = make_engine(engine, jobs, len(todo), experiment, data, ray_address)
        display.begin(info, len(finished))
        try:
            if todo or workers.are_several:
                for result in chosen.run(todo, data, display.epoch):
                    store.save(result, info)
                    finished[result.key] = result
                    display.fold(result)
        finally:
            display.end()
        store.check_complete(info)
    return Run(info, tuple(finished[key] for key in info.keys))


def load_run(folder: Path) -> Run:
    """A run from its folder, as far as it got; a run without any finished fold is an error."""
    store = RunStore(folder)
    run = Run(store.info(), tuple(store.results()))
    if not run.results:
        raise NothingFinished(f"{folder}: no fold is finished yet")
    return run


def run_info(experiment: Experiment, data: LoadedData) -> RunInfo:
    """What a run of the experiment on this data is of."""
    available = len(data.splits.folds)
    folds = range(available) if experiment.folds is None else experiment.folds
    if max(folds) >= available:
        raise ExperimentError(f"folds: {max(folds)} is too high, {data.dataset.name} has {available} folds from 0")
    return RunInfo(
        experiment=experiment.resolved(),
        keys=tuple(FoldKey(seed, fold) for seed in experiment.seeds for fold in folds),
        task=data.dataset.task,
        metric=data.dataset.metric,
        dataset_checksum=data.dataset.checksum,
        splits_name=data.splits.source,
        splits_checksum=data.splits.checksum,
        environment=environment(),
        numbers=CUT_DEGREES_VERSION if data.cuts_degrees(folds) else NUMBERS_VERSION,
    )


def make_engine(
    name: EngineName, jobs: str, pending: int, experiment: Experiment, data: LoadedData, ray_address: str | None
) -> Engine:
    """The engine, with as many folds side by side as ``jobs`` says."""
    if name == "local":
        return LocalEngine(decide_workers(jobs, pending, experiment, data.dataset))
    from mshgnn.lab.engines.ray import RayEngine  # an optional extra

    return RayEngine(None if jobs == "auto" else parse_workers(jobs), ray_address)
