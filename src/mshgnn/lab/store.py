"""The run store: one folder a run, one file a finished fold, nothing lost.

    RUN/run.json                       what is run: experiment, data checksums, first environment
    RUN/folds/seed0-fold03.json.gz     one finished fold: curves, environment, wall time, memory
    RUN/folds/*.damaged                a file that failed its checksum, set aside

Every file is written beside its place, synced and renamed, so it is there as a whole or not at all. Each
carries the SHA-256 of its content. Plain JSON, no pickle.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from mshgnn.lab.errors import StoreError
from mshgnn.lab.experiment import Experiment, check_experiment
from mshgnn.training.curves import Curves

FORMAT = 1
TEMPORARY = ".writing"


class FoldKey(NamedTuple):
    """Which fold of which seed."""

    seed: int
    fold: int

    def __str__(self) -> str:
        """The stem of the fold's file."""
        return f"seed{self.seed}-fold{self.fold:02d}"


@dataclass(frozen=True)
class FoldResult:
    """A finished fold: its curves and what it took."""

    key: FoldKey
    curves: Curves
    seconds: float
    peak_memory_mb: float
    parameters: int
    environment: Mapping[str, str]


@dataclass(frozen=True)
class RunInfo:
    """What a run is of: fixed when its folder is made, checked whenever it is continued."""

    experiment: Experiment
    keys: tuple[FoldKey, ...]
    task: str
    metric: str
    dataset_checksum: str
    splits_name: str
    splits_checksum: str
    environment: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``run.json``."""
        return {
            "experiment": self.experiment.resolved(),
            "keys": [list(key) for key in self.keys],
            "task": self.task,
            "metric": self.metric,
            "dataset_checksum": self.dataset_checksum,
            "splits_name": self.splits_name,
            "splits_checksum": self.splits_checksum,
            "environment": dict(self.environment),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any], source: str) -> RunInfo:
        """The inverse of :meth:`to_json`."""
        return cls(
            experiment=check_experiment(values["experiment"], source),
            keys=tuple(FoldKey(*key) for key in values["keys"]),
            **{name: values[name] for name in cls.__dataclass_fields__ if name not in ("experiment", "keys")},
        )


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
            ("experiment", old.experiment.decisive(), info.experiment.decisive()),
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
            return RunInfo.from_json(decode(path.read_bytes()), str(path))
        except FileNotFoundError:
            raise StoreError(f"{self.folder}: not a run folder (no run.json)") from None
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{path}: damaged ({error}); delete the folder and run again") from None

    def save(self, result: FoldResult) -> None:
        """Write a finished fold, whole or not at all."""
        payload = {
            "seed": result.key.seed,
            "fold": result.key.fold,
            "curves": result.curves.to_dict(),
            "seconds": result.seconds,
            "peak_memory_mb": result.peak_memory_mb,
            "parameters": result.parameters,
            "environment": dict(result.environment),
        }
        self._write(self._path(result.key), payload, compress=True)

    def load(self, key: FoldKey) -> FoldResult | None:
        """A finished fold, or ``None``; a damaged file is set aside as ``*.damaged``, says so and counts as missing."""
        path = self._path(key)
        try:
            values = decode(path.read_bytes())
            if FoldKey(values["seed"], values["fold"]) != key:
                raise ValueError(f"{path.name} holds another fold")
            return FoldResult(
                key=key,
                curves=Curves.from_dict(values["curves"]),
                seconds=float(values["seconds"]),
                peak_memory_mb=float(values["peak_memory_mb"]),
                parameters=int(values["parameters"]),
                environment=values["environment"],
            )
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


def encode(payload: Mapping[str, Any], *, compress: bool) -> bytes:
    """A payload with its format number and checksum as JSON bytes; the same payload gives the same bytes."""
    text = json.dumps(payload, allow_nan=False, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    content = json.dumps({"format": FORMAT, "sha256": digest, "payload": payload}, allow_nan=False).encode()
    return gzip.compress(content, mtime=0) if compress else content + b"\n"


def decode(content: bytes) -> dict[str, Any]:
    """The payload of :func:`encode`; ``ValueError`` when anything about it is not as written."""
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        values = json.loads(content)
        payload: dict[str, Any] = values["payload"]
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']} is not known")
        if digest != values["sha256"]:
            raise ValueError("checksum does not fit")
    except (EOFError, OSError, zlib.error, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"not readable: {error}") from None
    return payload


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, sync, rename, sync the folder: after a power cut the file is whole or absent."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # a temporary file is private; the finished one is like any other
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def first_difference(before: object, now: object, key: str = "") -> str:
    """Where two nested values first differ, in words."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                return first_difference(before.get(name), now.get(name), f"{key}.{name}".lstrip("."))
    return f"{key} was {before!r}, is now {now!r}".strip()


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
