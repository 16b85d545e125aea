"""The committed records as one thing to ask: which number did which model reach where."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

    def cell(self, dataset: str, model: str, rule: str = HEADLINE) -> str:
        """``mean ± std`` in percent under a rule, or a dash where nothing was run."""
        return cell(self.records.get((dataset, model)), rule)

    def mean(self, dataset: str, model: str, rule: str = HEADLINE) -> float | None:
        """The mean in percent as a table shows it, or ``None`` where nothing was run."""
        record = self.records.get((dataset, model))
        return None if record is None else round(100 * record.rules[rule].mean, 1)


def cell(record: Record | None, rule: str) -> str:
    """``mean ± std`` in percent under a rule; one fold has no spread; a dash where there is no record."""
    if record is None:
        return "–"
    result = record.rules[rule]
    spread = "" if len(result.per_fold) == 1 else f" ± {100 * result.std:.1f}"
    return f"{100 * result.mean:.1f}{spread}{_form(record)}"


def _form(record: Record) -> str:
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
    keys = [result.key for result in record.run.results]
    folds, seeds = len({key.fold for key in keys}), len({key.seed for key in keys})
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
    return Results(records, trials, capacity, measurements, worth, scale)


def _in_order(trials: dict[tuple[str, str], Record]) -> list[Record]:
    """Trials by name, each with its data sets in the order of their titles; ``trial-7-3`` is ``trial-7`` on 3 folds."""

    def place(cell: tuple[str, str]) -> tuple[list[str], str, str]:
        dataset, trial = cell
        return trial.split("-")[:2], SETS.get(dataset, dataset).lower(), trial

    return [trials[cell] for cell in sorted(trials, key=place)]
