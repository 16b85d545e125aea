"""The record of a run, written where it does not replace that of another experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mshgnn.files import check_writable
from mshgnn.lab.errors import ExperimentError, StoreError
from mshgnn.lab.experiment import check_experiment
from mshgnn.records.codec import first_difference
from mshgnn.records.record import load_record, make_record, save_record
from mshgnn.records.run import Run, RunInfo, decisive

ENDINGS = (".json", ".json.gz")


def record_run(run: Run, target: Path) -> Path:
    """Write the record of a complete run to a file, or into a folder as ``NAME.json.gz``; returns the file.

    The record of the same experiment is written over; that of another, under the same name, is not.
    """
    path = record_path(run.info.name, decisive(run.info.experiment), target)
    return save_record(make_record(run), path)


def record_path(name: str, now: Mapping[str, Any], target: Path) -> Path:
    """The file of an experiment's record, given what decides its numbers; refused if it holds another's."""
    path = target if target.name.endswith(ENDINGS) else target / f"{name}.json.gz"
    check_writable(path)
    if path.exists() and (difference := _difference(load_record(path).info, now)):
        raise StoreError(f"{path}: holds another experiment: {difference}; name another file")
    return path


def _difference(old: RunInfo, now: Mapping[str, Any]) -> str:
    """In what two experiments differ, the old one filled up with today's defaults; empty where in nothing."""
    try:
        before = check_experiment(old.experiment, "the record").decisive()
    except ExperimentError as error:
        return str(error)
    return "" if before == now else first_difference(before, dict(now))
