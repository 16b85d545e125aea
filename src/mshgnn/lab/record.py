"""Records: a finished run as one small file, to be committed and to make tables from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mshgnn.evaluation.rules import RuleResult
from mshgnn.lab.errors import StoreError
from mshgnn.lab.runner import Run
from mshgnn.lab.store import FoldKey, FoldResult, RunInfo, decode, encode, first_difference, write_atomically
from mshgnn.lab.summary import summarise
from mshgnn.training.curves import CURVE_NAMES, Curves

DIGITS = 4


@dataclass(frozen=True)
class Record:
    """A run with its curves rounded to four digits, and what every rule made of the full curves."""

    run: Run
    rules: Mapping[str, RuleResult]

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.run.info.experiment.name

    @property
    def parameters(self) -> int:
        """Trainable numbers of the model."""
        return self.run.results[0].parameters

    @property
    def seconds(self) -> float:
        """Training time of all folds together."""
        return sum(result.seconds for result in self.run.results)

    @property
    def peak_memory_mb(self) -> float:
        """Largest resident memory of any fold's process."""
        return max(result.peak_memory_mb for result in self.run.results)


def make_record(run: Run) -> Record:
    """The record of a complete run."""
    missing = len(run.info.keys) - len(run.results)
    if missing:
        raise StoreError(f"{run.info.experiment.name}: {missing} folds are missing; finish the run first")
    results = tuple(
        FoldResult(
            result.key,
            _rounded(result.curves),
            round(result.seconds, 2),
            round(result.peak_memory_mb, 1),
            result.parameters,
            result.environment,
        )
        for result in run.results
    )
    return Record(Run(run.info, results), summarise(run))


def save_record(record: Record, target: Path) -> Path:
    """Write to a ``.json`` or ``.json.gz`` file, else into a folder as ``NAME.json.gz``; returns the file.

    The record of the same experiment is written over; that of another, under the same name, is not.
    """
    path = target if target.name.endswith((".json", ".json.gz")) else target / f"{record.name}.json.gz"
    if path.exists():
        before, now = (made.run.info.experiment.decisive() for made in (load_record(path), record))
        if before != now:
            raise StoreError(f"{path}: holds another experiment: {first_difference(before, now)}; name another file")
    environments = _distinct([dict(result.environment) for result in record.run.results])
    payload = {
        "info": record.run.info.to_json(),
        "rules": {name: asdict(result) for name, result in record.rules.items()},
        "environments": environments,
        "folds": [
            {
                "seed": result.key.seed,
                "fold": result.key.fold,
                "curves": result.curves.to_dict(),
                "seconds": result.seconds,
                "peak_memory_mb": result.peak_memory_mb,
                "parameters": result.parameters,
                "environment": environments.index(dict(result.environment)),
            }
            for result in record.run.results
        ],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, encode(payload, compress=path.name.endswith(".gz")))
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def load_record(path: Path) -> Record:
    """Read a record; a missing, changed or damaged file is an error that names it."""
    try:
        values = decode(path.read_bytes())
        results = tuple(_fold(fold, values["environments"]) for fold in values["folds"])
        rules = {name: _rule(result) for name, result in values["rules"].items()}
        return Record(Run(RunInfo.from_json(values["info"], str(path)), results), rules)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StoreError(f"{path}: not a record, or damaged ({error})") from None


def load_records(folder: Path) -> list[Record]:
    """All records of a folder, by file name."""
    return [load_record(path) for path in sorted(folder.glob("*.json*"))]


def _rounded(curves: Curves) -> Curves:
    return Curves(**{name: np.round(getattr(curves, name), DIGITS) for name in CURVE_NAMES}, sizes=curves.sizes)


def _distinct(values: list[dict[str, str]]) -> list[dict[str, str]]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def _fold(values: Mapping[str, Any], environments: list[dict[str, str]]) -> FoldResult:
    return FoldResult(
        key=FoldKey(values["seed"], values["fold"]),
        curves=Curves.from_dict(values["curves"]),
        seconds=values["seconds"],
        peak_memory_mb=values["peak_memory_mb"],
        parameters=values["parameters"],
        environment=environments[values["environment"]],
    )


def _rule(values: Mapping[str, Any]) -> RuleResult:
    listed = {name: tuple(values[name]) for name in ("per_fold", "epochs")}
    return RuleResult(**{**values, **listed})
