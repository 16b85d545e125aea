"""Records: a finished run as one small file, to be committed and to make tables from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mshgnn.errors import UserError
from mshgnn.evaluation.rules import RuleResult
from mshgnn.files import read_regular, write_atomically
from mshgnn.records.codec import decode, encode
from mshgnn.records.run import FoldResult, Run, RunInfo
from mshgnn.training.curves import CURVE_NAMES, Curves

DIGITS = 4


class RecordError(UserError):
    """A record that cannot be made, read or written."""


@dataclass(frozen=True)
class Record:
    """A run with its curves rounded to four digits, and what the rules of its day made of the full curves."""

    run: Run
    stored: Mapping[str, RuleResult]

    @cached_property
    def rules(self) -> dict[str, RuleResult]:
        """The run under every rule.

        A rule that the record does not hold is computed from its curves, so a new rule needs no new records. One that
        it holds is taken as it is: rounding makes some validation losses equal that were not, and a tie would be
        decided for another epoch (IMDB-MULTI's GIN would lose 0.07 points).
        """
        return {name: self.stored.get(name, computed) for name, computed in self.run.rules.items()}

    @property
    def info(self) -> RunInfo:
        """What the run is of."""
        return self.run.info

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
        raise RecordError(f"{run.info.name}: {missing} folds are missing; finish the run first")
    results = tuple(
        replace(
            result,
            curves=_rounded(result.curves),
            seconds=round(result.seconds, 2),
            peak_memory_mb=round(result.peak_memory_mb, 1),
        )
        for result in run.results
    )
    return Record(Run(run.info, results), run.rules)


def save_record(record: Record, path: Path) -> Path:
    """Write to a ``.json`` or ``.json.gz`` file, over what is there; returns the file."""
    environments = _distinct([dict(result.environment) for result in record.run.results])
    folds = [result.to_json() for result in record.run.results]
    payload = {
        "info": record.run.info.to_json(),
        "rules": {name: result.to_dict() for name, result in record.rules.items()},
        "environments": environments,
        "folds": [fold | {"environment": environments.index(fold["environment"])} for fold in folds],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, encode(payload, compress=path.name.endswith(".gz")))
    except OSError as error:
        raise RecordError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def load_record(path: Path) -> Record:
    """Read a record; a missing, changed or damaged file is an error that names it."""
    try:
        values = decode(read_regular(path))
        environments = values["environments"]
        folds = [fold | {"environment": environments[fold["environment"]]} for fold in values["folds"]]
        results = tuple(FoldResult.from_json(fold) for fold in folds)
        stored = {name: RuleResult.from_dict(result) for name, result in values["rules"].items()}
        return Record(Run(RunInfo.from_json(values["info"]), results), stored)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RecordError(f"{path}: not a record, or damaged ({error})") from None


def load_suite(folder: Path) -> dict[tuple[str, str], Record]:
    """The records ``folder/DATASET/MODEL.json.gz`` of a suite, by data set and model as the suite calls them."""
    found = sorted(folder.glob("*/*.json.gz"))
    return {(path.parent.name, path.name.removesuffix(".json.gz")): load_record(path) for path in found}


def _rounded(curves: Curves) -> Curves:
    return replace(curves, **{name: np.round(getattr(curves, name), DIGITS) for name in CURVE_NAMES})


def _distinct(values: list[dict[str, str]]) -> list[dict[str, str]]:
    return [value for index, value in enumerate(values) if value not in values[:index]]
