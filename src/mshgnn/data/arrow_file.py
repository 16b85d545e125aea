"""Arrays in Arrow files (IPC, also called Feather): the views of a mapped file that ``.npy`` gives.

Such a file is a row of record batches, in each of which the numbers of a column lie side by side. So one batch is an
array where it lies. Several are joined once, into a ``.npy`` beside the file.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_file
from mshgnn.data.mapped import Array, MappedArray, made_beside, map_file

MAGIC, FIRST_MESSAGE = b"ARROW1", 8
CHUNK_BYTES = 2**24


def open_arrow(path: Path, columns: Literal[1, 2] = 1) -> MappedArray:
    """The array of an Arrow file: of one column ``[n]``, of one with fixed-size lists ``[n, d]``, of two ``[2, n]``."""
    check_file(path)
    with path.open("rb") as opened:
        file = map_file(path, opened)
    batches = _batches(path, file, columns)
    first = MappedArray(path, file, batches[0])
    return first if len(batches) == 1 else _joined(first, batches, columns)


def _batches(path: Path, file: mmap.mmap, columns: int) -> list[Array]:
    """Every record batch, where it lies. What is compressed is refused unread: it may be far larger than the file."""
    arrow = _pyarrow(path)
    ends = {file[: len(MAGIC)], file[-len(MAGIC) :]}
    if ends != {MAGIC} or len(file) < FIRST_MESSAGE:
        raise DataError(f"{path}: cut short, or no Arrow file")
    whole, found = arrow.py_buffer(file), []
    try:
        messages = _messages(arrow, whole.slice(FIRST_MESSAGE))
        schema = arrow.ipc.read_schema(next(messages))
        width = _width(path, arrow, schema, columns)
        for message in messages:
            if _is_compressed(message.metadata):
                raise DataError(f"{path}: is compressed; write it without compression")
            batch = arrow.ipc.read_record_batch(message, schema)
            batch.validate()
            if batch.num_rows:
                found.append(_view(path, file, whole.address, batch.columns, width))
    except (arrow.ArrowException, OSError, EOFError, StopIteration, UnicodeError, struct.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: damaged, or no Arrow file ({reason[:200]})") from None
    if not found:
        raise DataError(f"{path}: has no rows")
    return found


def _messages(arrow: ModuleType, content: Any) -> Iterator[Any]:
    """A schema, then record batches. pyarrow reads any message as what it is asked for, and can crash on another."""
    for number, message in enumerate(arrow.ipc.MessageReader.open_stream(content)):
        if message.type != (due := "record batch" if number else "schema"):
            raise arrow.ArrowInvalid(f"a {message.type} where a {due} should be")
        yield message


def _width(path: Path, arrow: ModuleType, schema: Any, columns: int) -> int:
    """The length of the lists in the only column; 0 where columns hold single numbers."""
    kinds, width = [field.type for field in schema], 0
    if columns == len(kinds) == 1 and arrow.types.is_fixed_size_list(kinds[0]) and kinds[0].list_size:
        kinds, width = [kinds[0].value_type], kinds[0].list_size
    are_numbers = all(arrow.types.is_integer(kind) or arrow.types.is_floating(kind) for kind in kinds)
    if len(kinds) != columns or len(set(kinds)) != 1 or not are_numbers:
        needed = ("one column of numbers or of fixed-size lists", "two columns of one type of numbers")[columns - 1]
        found = ", ".join(str(field.type) for field in list(schema)[:3])
        raise DataError(f"{path}: needs {needed}, has {len(schema):,} ({found[:200]})")
    return width


def _view(path: Path, file: mmap.mmap, base: int, columns: Sequence[Any], width: int) -> Array:
    """The numbers of a record batch: ``[r]``, ``[r, width]`` or ``[2, r]``."""
    parts = [columns[0].values] if width else columns
    if any(part.null_count for part in (*columns, *parts)):
        raise DataError(f"{path}: has empty cells (nulls)")
    kind, rows = np.dtype(parts[0].type.to_pandas_dtype()), len(columns[0])
    starts = [part.buffers()[1].address - base for part in parts]
    step, size = starts[-1] - starts[0], rows * max(width, 1) * kind.itemsize
    if step < 0 or any(not 0 <= start <= len(file) - size or start % kind.itemsize for start in starts):
        raise DataError(f"{path}: cannot be read where it lies (written on a machine of another byte order?)")
    if len(columns) == 2:
        return np.ndarray((2, rows), kind, file, starts[0], (step, kind.itemsize))
    return np.ndarray((rows, width) if width else (rows,), kind, file, starts[0])


def _is_compressed(metadata: Any) -> bool:
    """Whether a message is of a record batch that names a compression: field 3 of its flatbuffer table."""

    def field(table: int, number: int) -> int | None:
        fields = table - unpack("<i", table)
        slot = 4 + 2 * number
        place = unpack("<H", fields + slot) if slot < unpack("<H", fields) else 0
        return table + place if place else None

    def unpack(form: str, place: int) -> int:
        number: int = struct.unpack_from(form, metadata, place)[0]
        return number

    header = field(unpack("<I", 0), 2)
    return header is not None and field(header + unpack("<I", header), 3) is not None


def _joined(first: MappedArray, batches: Sequence[Array], columns: int) -> MappedArray:
    """All record batches as one array on the disk: the one of an earlier run where it is theirs, else made anew."""
    path = first.path.with_name(f"{first.path.stem}.mshgnn-joined.npy")
    num_rows = sum(batch.shape[-1 if columns == 2 else 0] for batch in batches)
    shape = (2, num_rows) if columns == 2 else (num_rows, *batches[0].shape[1:])
    if path.exists():
        try:
            found = MappedArray.open(path)
            same = found.values.shape == shape and found.values.dtype == first.values.dtype
            if same and all(np.array_equal(*both) for both in _pieces(found, first, batches, columns)):
                return found
        except DataError:  # damaged: made again below
            pass
    try:
        with made_beside(path) as temporary:
            out = MappedArray.create(temporary, shape, first.values.dtype)
            for there, here in _pieces(out, first, batches, columns):
                there[:] = here
    except OSError as error:
        raise DataError(f"{path}: record batches cannot be joined there ({error.strerror})") from None
    return MappedArray.open(path)


def _pieces(
    out: MappedArray, file: MappedArray, batches: Sequence[Array], columns: int
) -> Iterator[tuple[Array, Array]]:
    """The same rows of the whole and of a record batch, a few at a time."""
    whole, begin = out.values.T if columns == 2 else out.values, 0
    for batch in batches:
        rows = batch.T if columns == 2 else batch
        step = max(1, CHUNK_BYTES // rows[:1].nbytes)
        for first in range(0, len(rows), step):
            piece = rows[first : first + step]
            yield whole[begin : begin + len(piece)], piece
            begin += len(piece)
            out.forget()
            file.forget()


def _pyarrow(path: Path) -> ModuleType:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise DataError(f"{path}: Arrow needs pyarrow: pip install pyarrow, or write a .npy") from error
    return pyarrow
