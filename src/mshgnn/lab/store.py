"""The run store: one folder per run, one file per finished fold, nothing lost, nothing mixed.

    RUN/run.json                       what is run: experiment, checksums, version of the numbers, environment
    RUN/folds/seed0-fold03.json.gz     one finished fold: curves, environment, wall time, memory, digest of the run
    RUN/folds/*.checkpoint             a fold that several workers are training, see training/checkpoint.py
    RUN/folds/*.damaged, *.other       files that failed their checksum or belong to another run, set aside
    RUN/run.json.other                 the same run of another version of the package, set aside

Every file is written beside its place, synced and renamed, so it is there as a whole or not at all. Each
carries the SHA-256 of its content. Plain JSON, no pickle. Files that are not of these names are never touched.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mshgnn.files import TEMPORARY, read_regular, write_atomically
from mshgnn.lab.errors import ExperimentError, RunFolderLost, StoreError
from mshgnn.lab.experiment import check_experiment
from mshgnn.records.codec import decode, encode, first_difference
from mshgnn.records.run import FoldKey, FoldResult, RunInfo, decisive


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
        """Make the folder a run of ``info``, or check that it is one; then half-written files of a kill go.

        The same run of another version of the package is set aside, its folds when they are looked for.
        """
        if difference := self.difference(info):
            raise StoreError(f"{self.folder}: holds a run of another {difference}; choose another --out")
        try:
            (self.folder / "folds").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror or error})") from None
        if self.is_of_another_version(info):
            what = f"a run of mshgnn {self.info().version}, this is {info.version}"
            _set_aside(self.folder / "run.json", "other", what, "the run starts anew")
        if not self.exists:
            self._write(self.folder / "run.json", info.to_json(), compress=False)
        for pattern in (f"run.json.*{TEMPORARY}", f"folds/seed*-fold*.json.gz.*{TEMPORARY}"):
            for leftover in self.folder.glob(pattern):
                leftover.unlink(missing_ok=True)

    def info(self) -> RunInfo:
        """What the run is of."""
        path = self.folder / "run.json"
        try:
            return RunInfo.from_json(decode(read_regular(path)))
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(f"{self.folder}: not a run folder (no run.json)") from None
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror or error})") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{path}: damaged, or not the file of a run ({error}); choose another --out") from None

    def save(self, result: FoldResult, info: RunInfo) -> None:
        """Write a finished fold of the run ``info``, whole or not at all."""
        if not self.exists:
            raise RunFolderLost(f"{self.folder}: was removed while the run went on; {result.key} is not stored")
        if result.version != info.version:
            node = f" on {result.environment['node']}" if "node" in result.environment else ""
            raise StoreError(
                f"{result.key}: was computed by mshgnn {result.version}{node}, this is {info.version}: not stored"
            )
        self._write(self._path(result.key), {**result.to_json(), "run": info.digest}, compress=True)

    def load(self, key: FoldKey, info: RunInfo) -> FoldResult | None:
        """A finished fold of the run ``info``, or ``None``.

        A damaged file, and one that was computed for another run, is set aside, says so and counts as missing.
        """
        path = self._path(key)
        try:
            values = decode(read_regular(path))
            result = FoldResult.from_json(values)
            if result.key != key:
                raise ValueError(f"{path.name} holds another fold")
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError) as error:
            _set_aside(path, "damaged", f"damaged ({error})")
            return None
        if values.get("run") != (info.digest if info.numbers else None) or result.version != info.version:
            _set_aside(path, "other", "computed for another experiment, other data or by another version of the code")
            return None
        return result

    def holds(self, key: FoldKey) -> bool:
        """Whether a file of the fold is there; nothing is read or set aside."""
        return self._path(key).exists()

    def difference(self, info: RunInfo) -> str:
        """In what the run that is there differs from ``info``, in words; empty where in nothing."""
        return _difference(self.info(), info) if self.exists else ""

    def is_of_another_version(self, info: RunInfo) -> bool:
        """Whether the run that is there was begun by another version of the package."""
        return self.exists and self.info().version != info.version

    def results(self) -> list[FoldResult]:
        """All finished folds, in the run's order."""
        info = self.info()
        loaded = (self.load(key, info) for key in info.keys)
        return [result for result in loaded if result is not None]

    def check_complete(self, info: RunInfo) -> None:
        """Raise if a fold that was stored is no longer there."""
        lost = [str(key) for key in info.keys if not self._path(key).exists()]
        if lost:
            raise RunFolderLost(f"{self.folder}: was changed while the run went on; lost: {', '.join(lost)}")

    def _path(self, key: FoldKey) -> Path:
        return self.folder / "folds" / f"{key}.json.gz"

    def _write(self, path: Path, payload: Mapping[str, Any], *, compress: bool) -> None:
        try:
            write_atomically(path, encode(payload, compress=compress))
        except FileNotFoundError:
            raise RunFolderLost(
                f"{path.parent}: was removed while the run went on; {path.name} is not stored"
            ) from None
        except OSError as error:
            raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from error


def _difference(old: RunInfo, new: RunInfo) -> str:
    """In what decides the numbers two runs differ, in words; empty where in nothing."""
    for what, before, now in (
        ("experiment", _filled_up(old), decisive(new.experiment)),
        ("data set (checksum)", old.dataset_checksum, new.dataset_checksum),
        ("splits (checksum)", old.splits_checksum, new.splits_checksum),
        ("metric", old.metric, new.metric),
        ("version of the numbers", old.numbers, new.numbers),
    ):
        if before != now:
            return f"{what}: {first_difference(before, now)}"
    return ""


def _filled_up(info: RunInfo) -> dict[str, Any]:
    """The decisive part of an experiment, with today's defaults where an older version did not write them down."""
    try:
        return check_experiment(info.experiment, info.name).decisive()
    except ExperimentError:
        return decisive(info.experiment)


def _set_aside(path: Path, ending: str, why: str, therefore: str = "the fold counts as missing") -> None:
    """Rename a file to ``*.ENDING``, or ``*.ENDING2`` and so on, and say so."""
    names = (f"{path.name}.{ending}{number if number > 1 else ''}" for number in range(1, 1000))
    aside = next(name for name in names if not path.with_name(name).exists())
    path.replace(path.with_name(aside))
    print(f"mshgnn: {path}: {why}; kept as {aside}, {therefore}", file=sys.stderr)
