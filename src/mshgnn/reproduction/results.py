"""The committed records as one thing to ask: which number did which model reach where."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.files import read_json
from mshgnn.records.record import Record, load_suite
from mshgnn.reproduction.layout import SETS

SUITES = ("graph", "node", "tuned", "joint")
"""Whose records are in the tables of models; no cell is in two of them."""

WORTH_SUITES = ("neighbours", "multitask", "attributes", "heterophily")
"""Functions of neighbours' values, PNA's benchmark, continuous attributes, neighbours of another class."""

MEASUREMENTS = ("*.json", "bench/*.json", "molecules/*/*/*.json", "scale/*.json", "exported/*/metrics.json")
"""Where plain JSON lies."""


@dataclass(frozen=True)
class Results:
    """Everything under ``results/``: records of runs, and measurements kept as plain JSON."""

    records: dict[tuple[str, str], Record]
    """By data set and model, as the suites name them."""
    trials: dict[str, list[Record]]
    """By question: runs that chose an option, on validation alone."""
    capacity: dict[tuple[str, str], Record]
    """By data set and model: trained on all that is not test, without regularisation, to see what it memorises."""
    measurements: dict[str, Any]
    """By path without its ending: ceilings, speed, memory, comparisons on own data."""
    worth: dict[str, dict[tuple[str, str], Record]] = field(default_factory=dict)
    """By suite, then data set and model: where a harmonic message might be worth its place."""
    scale: dict[tuple[str, str], Record] = field(default_factory=dict)
    """By data set and way to batch: steps on parts of a graph beside steps on the whole."""
    first_folds: dict[tuple[str, str], Record] = field(default_factory=dict)
    """By data set and model: one fold of models that were not run in full, to tell time and memory by."""

    def cell(self, dataset: str, model: str, rule: str = HEADLINE) -> str:
        """``mean ± std`` in percent under a rule, the folds where some are missing; a dash where nothing was run."""
        record = self.records.get((dataset, model))
        return cell(record, rule) + ("" if record is None or self.is_whole(dataset, model) else f" ({runs(record)})")

    def is_whole(self, dataset: str, model: str) -> bool:
        """Whether the model was given as many folds of the set as any other."""
        most = max(count_folds(record) for (its_set, _), record in self.records.items() if its_set == dataset)
        return count_folds(self.records[dataset, model]) == most

    def mean(self, dataset: str, model: str, rule: str = HEADLINE) -> float | None:
        """The mean in percent as a table shows it, or ``None`` where nothing was run."""
        record = self.records.get((dataset, model))
        return None if record is None else round(100 * record.rules[rule].mean, 1)


def cell(record: Record | None, rule: str) -> str:
    """``mean ± std`` in percent under a rule, see :func:`samples`; a dash where there is no record."""
    if record is None:
        return "–"
    values = samples(record, rule)
    spread = "" if len(values) == 1 else f" ± {100 * values.std():.1f}"
    return f"{100 * record.rules[rule].mean:.1f}{spread}{form_of(record)}"


def count_folds(record: Record) -> int:
    """The folds of a run, whatever its seeds."""
    return len({result.key.fold for result in record.run.results})


def samples(record: Record, rule: str = HEADLINE) -> NDArray[np.float64]:
    """What a table's ± is over: the folds, each the mean of its seeds, or the seeds of the one fold there is."""
    values = by_seed_and_fold(record, record.rules[rule].per_fold)
    return values[:, 0] if values.shape[1] == 1 else values.mean(0)


def by_seed_and_fold(record: Record, values: ArrayLike) -> NDArray[np.float64]:
    """One number of every result, the folds of the first seed first, as ``[seeds, folds]``."""
    return np.asarray(values, dtype=np.float64).reshape(-1, count_folds(record))


def form_of(record: Record) -> str:
    """What a reader must know of a model that has changed since it was run."""
    return " (old form)" if of_old_preset(record) or of_full_stable(record) else ""


def of_old_preset(record: Record) -> bool:
    """Whether a run of `paper` or `released` is from before these presets were literal: always with an encoder.

    Such a record has no ``raw_up_to`` among the options of its model.
    """
    choice = record.info.experiment["model"]
    return choice["name"] in ("msh-paper", "msh-released") and "raw_up_to" not in choice


def of_full_stable(record: Record) -> bool:
    """Whether a run of `stable` is from before its generator was factored, so that its options have no ``rank``."""
    choice = record.info.experiment["model"]
    return choice["name"] == "msh-stable" and "rank" not in choice


def runs(record: Record) -> str:
    """``10 folds``, ``5 seeds`` where there is one fold alone, or ``10 folds x 3 seeds``."""
    folds, seeds = count_folds(record), len({result.key.seed for result in record.run.results})
    parts = [(folds, "fold")] if folds > 1 or seeds == 1 else []
    parts += [(seeds, "seed")] if seeds > 1 else []
    return " x ".join(f"{count} {kind}" + ("" if count == 1 else "s") for count, kind in parts)


def load_results(folder: Path) -> Results:
    """Read the records of all suites, those of ``capacity`` and ``trials`` apart, and measurements in plain JSON."""
    files = [path for places in MEASUREMENTS for path in sorted(folder.glob(places))]
    measurements = {path.relative_to(folder).with_suffix("").as_posix(): read_json(path) for path in files}
    trials = {question.name: _in_order(load_suite(question)) for question in sorted((folder / "trials").glob("*/"))}
    records = {key: record for suite in SUITES for key, record in load_suite(folder / suite).items()}
    worth = {suite: load_suite(folder / suite) for suite in WORTH_SUITES}
    capacity, scale = (load_suite(folder / name) for name in ("capacity", "scale"))
    first = {key: record for suite in SUITES for key, record in load_suite(folder / "first-folds" / suite).items()}
    return Results(records, trials, capacity, measurements, worth, scale, first)


def _in_order(trials: dict[tuple[str, str], Record]) -> list[Record]:
    """Trials by name, each with its data sets in the order of their titles; ``trial-7-3`` is ``trial-7`` on 3 folds."""

    def place(cell: tuple[str, str]) -> tuple[list[str], str, str]:
        dataset, trial = cell
        return trial.split("-")[:2], SETS.get(dataset, dataset).lower(), trial

    return [trials[cell] for cell in sorted(trials, key=place)]
