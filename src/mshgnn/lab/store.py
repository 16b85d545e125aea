"""The run store: one folder a run, one file a finished fold, nothing lost.

    RUN/run.json                       what is run: experiment, data checksums, first environment
    RUN/folds/seed0-fold03.json.gz     one finished fold: curves, environment, wall time, memory
    RUN/folds/*.damaged                a file that failed its checksum, set aside

Every file is written beside its place, synced and renamed, so it is there as a whole or not at all. Each
carries the SHA-256 of its content. Plain JSON, no pickle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mshgnn.lab.errors import StoreError
from mshgnn.lab.experiment import check_experiment
from mshgnn.records.codec import TEMPORARY, decode, encode, first_difference, write_atomically
from mshgnn.records.run import FoldKey, FoldResult, RunInfo


class RunStore:
    """A run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run already."""
        return (self.folder / "run.json").exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for one writer; a second one gets an error, not a mixture."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "run.lock", timeout=0)
            lock.acquire()
        except Timeout:
            raise StoreError(f"{self.folder}: another process is running here") from None
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror or error})") from None
        try:
            yield
        finally:
            lock.release()

    def begin(self, info: RunInfo) -> None:
        """Make the folder a run of ``info``, or check that it is one; half-written files of a kill go."""
        for leftover in self.folder.rglob(f"*{TEMPORARY}"):
            leftover.unlink()
        if not self.exists:
            self._write(self.folder / "run.json", info.to_json(), compress=False)
            return
        old = self.info()
        for what, before, now in (
            ("experiment", _decisive(old), _decisive(info)),
            ("data set (checksum)", old.dataset_checksum, info.dataset_checksum),
            ("splits (checksum)", old.splits_checksum, info.splits_checksum),
        ):
            if before != now:
                difference = first_difference(before, now)
                raise StoreError(f"{self.folder}: holds a run of another {what}: {difference}; choose another --out")

    def info(self) -> RunInfo:
        """What the run is of."""
        path = self.folder / "run.json"
        try:
            return RunInfo.from_json(decode(path.read_bytes()))
        except FileNotFoundError:
            raise StoreError(f"{self.folder}: not a run folder (no run.json)") from None
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{path}: damaged ({error}); delete the folder and run again") from None

    def save(self, result: FoldResult) -> None:
        """Write a finished fold, whole or not at all."""
        self._write(self._path(result.key), result.to_json(), compress=True)

    def load(self, key: FoldKey) -> FoldResult | None:
        """A finished fold, or ``None``; a damaged file is set aside as ``*.damaged``, says so and counts as missing."""
        path = self._path(key)
        try:
            result = FoldResult.from_json(decode(path.read_bytes()))
            if result.key != key:
                raise ValueError(f"{path.name} holds another fold")
            return result
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError) as error:
            aside = path.replace(path.with_name(path.name + ".damaged"))
            print(
                f"mshgnn: {path}: damaged ({error}); kept as {aside.name}, the fold counts as missing", file=sys.stderr
            )
            return None

    def results(self) -> list[FoldResult]:
        """All finished folds, in the run's order."""
        loaded = (self.load(key) for key in self.info().keys)
        return [result for result in loaded if result is not None]

    def _path(self, key: FoldKey) -> Path:
        return self.folder / "folds" / f"{key}.json.gz"

    def _write(self, path: Path, payload: Mapping[str, Any], *, compress: bool) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, encode(payload, compress=compress))
        except OSError as error:
            raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from error


def _decisive(info: RunInfo) -> dict[str, Any]:
    """What decides the numbers of a run; experiments of older versions are filled up with today's defaults."""
    return check_experiment(info.experiment, info.name).decisive()
