"""Where prepared data is kept: tensors and a checksum, private, whole or not at all.

A kept folder holds ``data.safetensors`` (with a header of facts) and its sha256. It is read only where the sum is right
and the header is the expected one; anything else is made again. Nothing in it can run code.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from mshgnn.data.dataset import DataError
from mshgnn.files import read_regular

FORMAT = 1
"""Raised when a reader changes what it makes of the same files: older folders are then made again."""

_FILE, _SUM = "data.safetensors", "sha256"
_log = logging.getLogger("mshgnn")


class Kept(NamedTuple):
    """Named tensors, and facts about them that JSON can hold."""

    tensors: dict[str, Tensor]
    facts: Mapping[str, object]


def data_root(root: Path | None = None) -> Path:
    """The folder of prepared data: ``root``, else ``MSHGNN_DATA``, else the platform's cache folder."""
    import platformdirs

    chosen = root or os.environ.get("MSHGNN_DATA") or platformdirs.user_cache_path("mshgnn") / "data"
    return Path(chosen).expanduser().absolute()


def mirror() -> Path | None:
    """The folder of upstream files given by ``MSHGNN_MIRROR``, or None."""
    given = os.environ.get("MSHGNN_MIRROR")
    if not given:
        return None
    folder = Path(given).expanduser().absolute()
    if not folder.is_dir():
        raise DataError(f"MSHGNN_MIRROR: {folder} is not a folder")
    return folder


def prepared_folder(root: Path, name: str) -> Path:
    """Where the prepared data of a name is kept."""
    return root / "prepared" / name


def keep(folder: Path, build: Callable[[Path], Kept]) -> Kept:
    """What ``folder`` holds, or else what ``build(temporary folder)`` makes, which is kept there.

    A second process waits and finds the result; a crash or an error leaves nothing half written; a folder that is
    damaged or not of this kind is made again, with one line in the log.
    """
    from filelock import FileLock

    found = _read(folder)
    if found is not None:
        return found
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _not_ours(folder, error) from error
    try:
        with FileLock(folder.parent / f".{folder.name}.lock"):
            found = _read(folder, say=True)
            if found is not None:
                return found
            for abandoned in folder.parent.glob(f".{folder.name}.*.tmp"):  # of a process that was killed
                shutil.rmtree(abandoned, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))  # 0700
            try:
                made = build(temporary / "work")
                shutil.rmtree(temporary / "work", ignore_errors=True)
                _write(temporary, folder.name, made)
                _make_way(folder)
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except PermissionError as error:
        raise _not_ours(folder, error) from error
    return made


def _not_ours(folder: Path, error: OSError) -> DataError:
    return DataError(f"{folder.parent}: cannot write there ({error.strerror}); set MSHGNN_DATA to a folder of yours")


def _make_way(folder: Path) -> None:
    """Remove a folder of ours; what else there is in its place is set aside."""
    if not os.path.lexists(folder):
        return
    if folder.is_dir() and not folder.is_symlink() and {path.name for path in folder.iterdir()} <= {_FILE, _SUM}:
        shutil.rmtree(folder)
        return
    names = (f"{folder.name}.other{number or ''}" for number in range(1000))
    aside = next(path for name in names if not os.path.lexists(path := folder.with_name(name)))
    folder.rename(aside)
    _log.warning("%s: was no prepared data of ours; it is kept as %s", folder, aside.name)


def _write(folder: Path, name: str, made: Kept) -> None:
    facts = json.dumps({"format": FORMAT, "name": name, "facts": made.facts})
    raw = save({key: value.contiguous() for key, value in made.tensors.items()}, {"mshgnn": facts})
    (folder / _FILE).write_bytes(raw)
    (folder / _SUM).write_text(hashlib.sha256(raw).hexdigest() + "\n", encoding="ascii")


def _read(folder: Path, *, say: bool = False) -> Kept | None:
    """The content of a folder; None where there is none or it is not to be trusted (said once, under the lock)."""
    if not folder.exists():
        return None
    try:
        raw = read_regular(folder / _FILE)
        if read_regular(folder / _SUM) != hashlib.sha256(raw).hexdigest().encode() + b"\n":
            raise ValueError("its checksum is wrong")
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["mshgnn"])
        if (header["format"], header["name"]) != (FORMAT, folder.name):
            raise ValueError("it is of another version or name")
        return Kept(load(raw), header["facts"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        if say:
            _log.warning("%s: %s; it is made again", folder, error)
        return None
