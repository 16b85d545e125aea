"""Checks of downloaded or mirrored files before anything is read from them: zip and npz."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
import numpy.typing as npt

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_file, check_limit
from mshgnn.data.npy_header import read_npy_header

KINDS = {"iu": "whole numbers", "iub": "whole numbers", "fiub": "numbers", "b": "true and false"}
"""What the letters of numpy's dtype kinds mean together."""


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


def read_npz(path: Path, arrays: Mapping[str, str], *, blanks: str = "") -> dict[str, npt.NDArray[np.generic]]:
    """The named arrays of an npz, each of the dtype kinds given (see ``KINDS``).

    A damaged file, a missing array, pickled objects, text, NaN and infinity are refused; the array ``blanks`` alone may
    hold NaN. Every header is compared with the bytes that follow it before an array is allocated.
    """
    read: dict[str, npt.NDArray[np.generic]] = {}
    total = 0
    with _open_checked(path) as archive:
        for key, kinds in arrays.items():
            where = f"{path}: array {key!r}"
            try:
                member = archive.getinfo(f"{key}.npy")
            except KeyError as error:
                raise DataError(f"{where} is missing") from error
            with archive.open(member) as file:
                dtype, size = _header(file, where)
                if dtype.kind not in kinds:
                    raise DataError(f"{where} holds {dtype}, not {KINDS[kinds]}")
                if size != member.file_size - file.tell():
                    raise DataError(f"{where} cannot be read: {size:,} bytes by its header; the file is refused")
                total += size
                check_limit("memory", total, path)
            with archive.open(member) as file:
                try:
                    value = np.lib.format.read_array(file, allow_pickle=False)
                except (ValueError, EOFError, OSError) as error:
                    raise DataError(f"{where} cannot be read ({error}); the file is refused") from error
            if dtype.kind == "f" and not (np.isfinite(value) | (np.isnan(value) & (key == blanks))).all():
                raise DataError(f"{where} holds NaN or infinity")
            read[key] = value.astype(dtype.newbyteorder("="), copy=False)
    return read


def names_in_npz(path: Path) -> set[str]:
    """The arrays that a checked npz holds."""
    with _open_checked(path) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def _header(file: IO[bytes], where: str) -> tuple[np.dtype[np.generic], int]:
    """Dtype and bytes of the array a file announces; leaves the file behind its header."""
    try:
        shape, _, dtype = read_npy_header(file)
    except (ValueError, OSError) as error:
        raise DataError(f"{where} cannot be read; the file is refused") from error
    if dtype.hasobject:
        raise DataError(f"{where} holds pickled objects; the file is refused")
    size = dtype.itemsize
    for length in shape:
        size *= length
    return dtype, size


def _open_checked(path: Path) -> zipfile.ZipFile:
    """Open a zip after checking every member: checksum, size, and a name that stays inside."""
    check_file(path)
    try:
        archive = zipfile.ZipFile(path)
        names = [PurePosixPath(member.filename.replace("\\", "/")) for member in archive.infolist()]
        outside = [name for name in names if name.is_absolute() or ".." in name.parts]
        if outside:
            raise DataError(f"{path}: member {str(outside[0])!r} points outside the archive; the file is refused")
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in archive.infolist()):
            raise DataError(f"{path}: is compressed in a way that data sets never are; the file is refused")
        check_limit("unpacked", sum(member.file_size for member in archive.infolist()), path)
        damaged = archive.testzip()
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        UnicodeDecodeError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        raise DataError(f"{path}: damaged or incomplete ({error}); provide the file again") from error
    if damaged is not None:
        raise DataError(f"{path}: damaged: checksum of {damaged!r} is wrong; provide the file again")
    return archive
