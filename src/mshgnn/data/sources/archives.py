"""Checks of downloaded or mirrored files before anything is read from them: zip and npz."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np

from mshgnn.data.dataset import DataError

MAX_UNPACKED_BYTES = 4 * 2**30


def unpack_tu_zip(path: Path, folder: Path, name: str) -> None:
    """Unpack the ``NAME_*.txt`` files of a checked TU zip into ``folder``, without its inner folders."""
    with _open_checked(path) as archive:
        wanted = [
            member
            for member in archive.infolist()
            if PurePosixPath(member.filename).match(f"{name}_*.txt") and not member.is_dir()
        ]
        if not wanted:
            raise DataError(f"{path}: holds no {name}_*.txt files")
        for member in wanted:
            target = folder / PurePosixPath(member.filename).name
            with archive.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def check_npz(path: Path, arrays: Iterable[str]) -> None:
    """Refuse a damaged npz, one without these arrays, and pickled objects among them."""
    _open_checked(path).close()
    with np.load(path, allow_pickle=False) as content:
        for key in arrays:
            if key not in content.files:
                raise DataError(f"{path}: array {key!r} is missing")
            try:
                value = content[key]
            except (ValueError, EOFError, OSError) as error:
                reason = "holds pickled objects" if "allow_pickle" in str(error) else "cannot be read"
                raise DataError(f"{path}: array {key!r} {reason}; the file is refused") from error
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise DataError(f"{path}: array {key!r} holds NaN or infinity")


def _open_checked(path: Path) -> zipfile.ZipFile:
    """Open a zip after checking every member: checksum, size, and a name that stays inside."""
    try:
        archive = zipfile.ZipFile(path)
        names = [PurePosixPath(member.filename.replace("\\", "/")) for member in archive.infolist()]
        outside = [name for name in names if name.is_absolute() or ".." in name.parts]
        if outside:
            raise DataError(f"{path}: member {str(outside[0])!r} points outside the archive; the file is refused")
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise DataError(f"{path}: would unpack to {unpacked / 2**30:.1f} GiB; the file is refused")
        damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(f"{path}: damaged or incomplete ({error}); provide the file again") from error
    if damaged is not None:
        raise DataError(f"{path}: damaged: checksum of {damaged!r} is wrong; provide the file again")
    return archive
