"""Tables with a header: CSV, TSV (also gzipped) and Parquet, as text cells with their line numbers."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import allowed, check_file, check_growth, check_limit
from mshgnn.data.readers.text import NO_ROW, TOO_LARGE, lines_of, number, text_lines, unreadable
from mshgnn.errors import did_you_mean

PARQUET_ROWS = 1000
CELL_BYTES, CHECKED_EVERY = 60, 10**6
"""What a cell takes besides its characters; after so many bytes more the limit is looked at again."""
VALUE_BYTES = 8
"""What a value of a Parquet file takes at least once it is unpacked, however few bytes it has there."""
REASONS = {
    "end of data": "a quotation mark is never closed",
    "new-line character": "a carriage return alone ends no line; save the file with line feeds",
}
"""What the messages of Python's reader mean to someone who has only the file."""
DELIMITERS = {";": "semicolons", "\t": "tabs", ",": "commas"}
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


class Table(NamedTuple):
    """Columns of cells as text, and the line of the file each row ends on (the row's number in a Parquet file).

    A name that is there twice is ``name.0`` and ``name.1``, so that every column can be asked for.
    """

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]
    broken: Mapping[int, str] = {}
    """Rows that are no rows of this table, each with the reason; their cells are blank."""

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int, column: str | None = None) -> str:
        """File, line and column, for messages."""
        return f"{self.path}: line {self.lines[row]}" + (f": column {column!r}" if column else "")

    def cells(self, column: str) -> list[str]:
        """A column by its name; an unknown one is refused with those that are there."""
        if column in self.columns:
            return self.columns[column]
        if f"{column}.1" in self.columns:
            raise DataError(f"{self.path}: line 1: column {column!r} is there twice; say '{column}.0' or '{column}.1'")
        listed = ", ".join(self.columns)[:200]
        hint = did_you_mean(column, self.columns) if len(self.columns) > 8 else ""
        raise DataError(f"{self.path}: line 1: no column {column!r}; columns are {listed}{hint}")

    def numbers(self, columns: Sequence[str]) -> Tensor:
        """Columns of numbers, float32 ``[rows, columns]``."""
        values = np.empty((len(self), len(columns)), dtype=np.float64)
        for place, column in enumerate(columns):
            for row, cell in enumerate(self.cells(column)):
                read = number(cell)
                if read is None or abs(read) >= TOO_LARGE:
                    raise DataError(f"{self.where(row, column)}: not a number: {cell[:40]!r}")
                values[row, place] = read
        return torch.from_numpy(values.astype(np.float32))


def is_table(path: Path) -> bool:
    """Whether a file's name is that of a table."""
    return path.name.endswith(SUFFIXES)


def delimiter_of(path: Path) -> str:
    """What stands between the cells of a text with this name."""
    return "\t" if path.name.removesuffix(".gz").endswith(".tsv") else ","


def stem(path: Path) -> str:
    """The file's name without its ending."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def read_table(path: Path, *, keep_broken: bool = False) -> Table:
    """Read a table; a row that cannot be one is refused with its line, or kept as ``broken``."""
    names, rows = open_rows(path, marked=keep_broken)
    columns: dict[str, list[str]] = {column: [] for column in names}
    lines: list[int] = []
    broken: dict[int, str] = {}
    held = checked = 0
    for line, cells in rows:
        held += CELL_BYTES * (len(cells) + 1) + sum(map(len, cells))
        if held > checked + CHECKED_EVERY:  # of a file of a few bytes that unpacks for ever
            check_limit("memory", held, path)
            checked = held
        if problem := broken_row(cells, names):
            if not keep_broken:
                raise DataError(f"{path}: line {line}: {problem}")
            broken[len(lines)] = f"{path}: line {line}: {problem}"
        lines.append(line)
        for column, cell in zip(names, [""] * len(names) if problem else cells, strict=True):
            columns[column].append(cell)
    return Table(path, columns, lines, broken)


def open_rows(path: Path, *, marked: bool = False) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns, and line and cells of one row after the other, empty lines left out.

    ``marked`` is that of :func:`~mshgnn.data.readers.text.lines_of`.
    """
    if path.suffix == ".parquet":
        header, rows = _parquet(path)
        return _names(path, header), rows
    lines = _gzip_lines(path, marked) if path.suffix == ".gz" else (line for _, line in text_lines(path, marked=marked))
    delimiter = delimiter_of(path)
    cells = _text_rows(path, lines, delimiter, marked)
    header = next(cells, (1, []))[1]
    if not header:
        raise DataError(f"{path}: line 1: there is no header" + ("" if path.stat().st_size else "; the file is empty"))
    _check_delimiter(path, header, delimiter)
    return _names(path, header), ((line, row) for line, row in cells if row)


def broken_row(cells: Sequence[str], names: Sequence[str]) -> str:
    """Why these cells are no row of a table with this header; nothing where they are one."""
    if problem := next(filter(None, map(unreadable, cells)), ""):
        return problem
    return "" if len(cells) == len(names) else f"{len(cells)} cells, the header has {len(names)}"


def _text_rows(path: Path, lines: Iterator[str], delimiter: str, marked: bool) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), allowed("line")))  # lines are measured already
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            reason = next((words for part, words in REASONS.items() if part in str(error)), str(error))
            if not marked or begins == 1 or reader.line_num > begins:  # it may have swallowed other rows
                raise DataError(f"{path}: line {begins}: {reason}") from error
            cells = [NO_ROW + reason]
        if cells is None:
            return
        yield reader.line_num, cells


def _check_delimiter(path: Path, header: Sequence[str], delimiter: str) -> None:
    """A header of one cell with another delimiter in it is that of a table that some spreadsheet wrote its own way."""
    other = next((mark for mark in DELIMITERS if mark in header[0] and mark != delimiter), None)
    if len(header) == 1 and other:
        kind = "tabs" if delimiter == "\t" else "commas"
        raise DataError(
            f"{path}: line 1: columns are parted by {DELIMITERS[other]}, those of a file with this name by {kind}"
        )


def _names(path: Path, header: Sequence[str]) -> list[str]:
    """The header with a number after each name that is there more than once."""
    counts, seen = Counter(header), Counter[str]()
    names = []
    for column in header:
        names.append(f"{column}.{seen[column]}" if counts[column] > 1 else column)
        seen[column] += 1
    if len(set(names)) != len(names):
        raise DataError(f"{path}: line 1: two columns are called {Counter(names).most_common(1)[0][0]!r}")
    return names


def _gzip_lines(path: Path, marked: bool) -> Iterator[str]:
    """Lines of a gzipped text; how much it unpacks to is watched while it is read."""
    check_file(path)
    limit = allowed("unpacked")
    try:
        with gzip.open(path, "rb") as file:
            for _, line in lines_of(file, path, marked=marked):
                if (unpacked := file.tell()) > limit:
                    check_limit("unpacked", unpacked, path)
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged or incomplete ({error})") from error


def _parquet(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header, and the rows with their numbers from 1, read a few at a time."""
    check_file(path)
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise DataError(f"{path}: Parquet needs pyarrow: pip install pyarrow, or write a .csv") from error
    try:
        file = parquet.ParquetFile(path)
        groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
        chunks = [group.column(column) for group in groups for column in range(group.num_columns)]
        unpacked = sum(max(chunk.total_uncompressed_size, VALUE_BYTES * chunk.num_values) for chunk in chunks)
        check_limit("unpacked", unpacked, path)
        check_growth(unpacked, path.stat().st_size, path)
        header = list(file.schema_arrow.names)
        texts = [field.name for field in file.schema_arrow if str(field.type).endswith(("string", "binary"))]
        file = parquet.ParquetFile(path, read_dictionary=texts)  # a long text that is there often is held once
    except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
        raise _no_parquet(path, error) from error

    def rows() -> Iterator[tuple[int, list[str]]]:
        numbers = count(1)
        try:
            for batch in file.iter_batches(batch_size=PARQUET_ROWS):
                for cells in zip(*batch, strict=True):
                    values = [cell.as_py() for cell in cells]
                    yield next(numbers), ["" if value is None else str(value) for value in values]
        except (OSError, ValueError) as error:
            raise _no_parquet(path, error) from error

    return header, rows()


def _no_parquet(path: Path, error: Exception) -> DataError:
    return DataError(f"{path}: damaged or no Parquet file ({str(error).splitlines()[0]})")
