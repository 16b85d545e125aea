"""Arrays that stay on the disk: files mapped into memory, page by page as they are read."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_file
from mshgnn.data.npy_header import read_npy_header

Array = npt.NDArray[Any]

MAPPED = "mapped"
"""The attribute of a graph that names its :class:`MappedArray`, where its tensors are views of files."""

PIECE_BYTES = 2**24
"""So much of a file is in memory at a time when rows are taken out of all of it."""


class MappedArray:
    """An array in a file. ``values`` looks like any array; :meth:`forget` gives back the pages read so far.

    Pages that were read stay in the process until the system needs them, and count as its memory. A process that keeps
    within a limit forgets them after every step: the system still has them in its own cache while there is room.
    """

    def __init__(self, path: Path, file: mmap.mmap, values: Array) -> None:
        self.path, self.values = path, values
        self._file = file

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> MappedArray:
        """The array of a ``.npy`` file."""
        check_file(path)
        with path.open("r+b" if write else "rb") as file:
            try:
                shape, columns_first, dtype = read_npy_header(file)
            except ValueError as error:
                raise DataError(f"{path}: not a .npy file ({error})") from error
            if columns_first or dtype.hasobject:
                raise DataError(f"{path}: must hold numbers, row by row")
            if any(length < 0 for length in shape):
                raise DataError(f"{path}: a dimension is negative: {shape}")
            start, size = file.tell(), math.prod(shape) * dtype.itemsize
            if path.stat().st_size != start + size:
                raise DataError(f"{path}: {path.stat().st_size - start:,} bytes of content, the header says {size:,}")
            mapped = map_file(path, file, write=write)
        return cls(path, mapped, np.ndarray(shape, dtype, mapped, start))

    @classmethod
    def create(cls, path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> MappedArray:
        """A new file of zeros. A disk without room for all of it is an ``OSError`` here: later it would be a crash."""
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call, unused-ignore]
            size = math.prod(shape) * np.dtype(dtype).itemsize
            if size and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), file.tell(), size)
            file.truncate(file.tell() + size)
        return cls.open(path, write=True)

    def __reduce__(self) -> NoReturn:
        """No copy can be sent elsewhere: whoever asks has another machine in mind."""
        raise DataError(f"{self.path}: a graph on the disk stays on its machine; use the local engine")

    def take(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some rows, in the order asked for. They are read in that of the file, and pages given back on the way.

        A system may map a megabyte around every page that is touched, so rows from everywhere would map the whole file.
        """
        found = np.empty((rows.size, *self.values.shape[1:]), self.values.dtype)
        order, step = np.argsort(rows), max(1, PIECE_BYTES // self.values[:1].nbytes)
        bounds = np.searchsorted(rows, np.arange(step, len(self.values), step), sorter=order)
        for piece in np.split(order, bounds):
            if piece.size:
                found[piece] = self.values[rows[piece]]
                self.forget()
        return found

    def forget(self) -> None:
        """Give back the pages. What was written goes to the file, and the system brings it to the disk in its time.

        To wait for the disk here, after every step, would take far longer than the steps.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)


def map_file(path: Path, file: IO[bytes], *, write: bool = False) -> mmap.mmap:
    """The whole of an open file; without ``write`` no change of the memory reaches it."""
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if write else mmap.ACCESS_COPY)
    except (OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: cannot be mapped into memory ({error})") from None


@contextmanager
def made_beside(path: Path) -> Iterator[Path]:
    """A file that becomes ``path`` once it is on the disk, if the block ends well.

    Another process may make the same one at the same time.
    """
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".writing", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
