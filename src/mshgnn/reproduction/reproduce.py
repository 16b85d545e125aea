"""Everything in the paper by name: which cells it needs, what they cost by the records, and the run itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mshgnn.benchmarks.footprint import measure_footprints
from mshgnn.errors import UserError
from mshgnn.files import written
from mshgnn.lab.errors import RunFailed
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.recording import record_run
from mshgnn.lab.runner import Display, default_folder, run_experiment
from mshgnn.lab.store import RunStore
from mshgnn.lab.suite import load_experiments
from mshgnn.records.record import Record
from mshgnn.reproduction.cost import Times
from mshgnn.reproduction.layout import CONTROLS, JOINT_SEEN
from mshgnn.reproduction.results import count_folds


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper: cells of a suite, then tables of the project or pictures made of them."""

    suite: str | None = None
    only: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    trains_in_place: bool = False
    """Whether the picture trains its cells itself, one fold each, since it needs the models and not their curves."""
    footprints_of: str | None = None
    """The data set on whose test graphs inference time and memory of the models are measured, into ``joint-cost``."""


TARGETS = {
    "table-1": Target("graph", tables=("graph-models", "graph-differences")),
    "table-2": Target("node", tables=("node-models",)),
    "table-3": Target("joint", tables=("joint",), footprints_of="structure-frequency-fixed"),
    "figure-1": Target(figures=("stars",)),
    "figure-3": Target("ablation", figures=("ablation-encoding", "ablation-frequencies", "ablation-readout")),
    "figure-4": Target("joint", only=JOINT_SEEN, trains_in_place=True),
}


@dataclass(frozen=True)
class Cost:
    """Seconds on one core of what is still to run, by experiment."""

    recorded: Mapping[str, float]
    """Folds still to run times the seconds of a recorded fold."""
    guessed: Mapping[str, float]
    """By single folds, other suites and other data sets, see :mod:`mshgnn.reproduction.cost`."""
    unknown: tuple[str, ...]
    """Experiments that nothing is known of."""


def target_experiments(target: Target, only: Sequence[str] = ()) -> list[Experiment]:
    """The experiments behind a target; ``only`` chooses among its cells."""
    if target.suite is None:
        return []
    return load_experiments(Path(target.suite), only=only or target.only)


def estimate(
    target: Target, experiments: Sequence[Experiment], records: Mapping[tuple[str, str], Record], times: Times
) -> Cost:
    """The cost by the records of the same suite, by data set and model as the suite calls them, else by ``times``.

    How many folds a set has is read off records: the most that any model was given.
    """
    recorded: dict[str, float] = {}
    guessed: dict[str, float] = {}
    unknown = []
    for experiment in experiments:
        _, dataset, model = experiment.name.rsplit("/", 2)
        record = records.get((dataset, model))
        epoch = times.epoch(experiment.dataset.name, experiment.model.name)
        folds = _count_folds(experiment, dataset, records, times)
        if folds is None or (record is None and epoch is None):
            unknown.append(experiment.name)
            continue
        runs = 1 if target.trains_in_place else max(folds * len(experiment.seeds) - _finished(experiment), 0)
        if record is not None:
            recorded[experiment.name] = runs * record.seconds / len(record.run.results)
        elif epoch is not None:
            guessed[experiment.name] = runs * epoch * experiment.training.epochs
    return Cost(recorded, guessed, tuple(unknown))


def _count_folds(
    experiment: Experiment, dataset: str, records: Mapping[tuple[str, str], Record], times: Times
) -> int | None:
    if experiment.folds is not None:
        return len(experiment.folds)
    known = [count_folds(other) for (its_set, _), other in records.items() if its_set == dataset]
    return max(known) if known else times.folds.get(experiment.dataset.name)


def run_cells(experiments: Sequence[Experiment], display: Display, jobs: str, out: Path) -> list[str]:
    """Run what is missing of every experiment and write its record under ``out``; returns what failed, and why.

    One that cannot be run here, by memory or by its data, does not keep the others from running.
    """
    failed = []
    for experiment in experiments:
        try:
            record_run(run_experiment(experiment, default_folder(experiment), display, jobs=jobs), out)
        except (RunFailed, UserError) as error:
            failed.append(f"{experiment.name}: {error}")
    return failed


def measure_costs(target: Target, experiments: Sequence[Experiment], out: Path) -> None:
    """Inference time and memory of the networks among the experiments, as ``out/joint-cost.json``."""
    networks = [
        experiment
        for experiment in experiments
        if experiment.dataset.name == target.footprints_of and experiment.model.name not in CONTROLS
    ]
    found = measure_footprints(networks) if networks else []
    costs = {
        experiment.name.rsplit("/", 1)[1]: {
            "inference_ms": round(1e3 * cost.inference_seconds, 2),
            "peak_mb": round(cost.peak_memory_mb, 2),
        }
        for experiment, cost in zip(networks, found, strict=True)
    }
    with written(out / "joint-cost.json") as file:
        file.write((json.dumps(costs, indent=1) + "\n").encode())


def _finished(experiment: Experiment) -> int:
    """Folds that the run's folder holds already."""
    store = RunStore(default_folder(experiment))
    return len(store.results()) if store.exists else 0
