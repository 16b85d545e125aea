"""The file that a command writes: not the one it reads, and in the form that its name says."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from mshgnn.data.readers.table import delimiter_of
from mshgnn.errors import UserError
from mshgnn.files import check_writable, written

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

READ_IN_FOLDERS = ("nodes.*", "edges.*", "*.npy", "*.arrow", "*.txt")
"""Files of a folder that may be a graph's own: tables, arrays, TU text."""


@contextmanager
def written_table(out: Path) -> Iterator[tuple[IO[str], str]]:
    """A text file that becomes ``out`` if the block ends well, gzipped where the name says so, and its delimiter."""
    with written(out) as file:
        if out.suffix != ".gz":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text, delimiter_of(out)
            text.detach()  # which writes what is left; the file is not ours to close
            return
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:  # the same rows, the same bytes
            text = io.TextIOWrapper(cast(IO[bytes], packed), encoding="utf-8", newline="")
            yield text, delimiter_of(out)
            text.detach()


def check_table(out: Path) -> None:
    """Refuse a name whose ending promises what a table of text is not, such as ``.parquet``."""
    if not out.name.endswith(TABLES):
        raise UserError(f"--out {out}: must end in {', '.join(TABLES[:-1])} or {TABLES[-1]}")


def check_out(out: Path, data: Path) -> None:
    """Refuse, before the work, what cannot be written, and to write over what is to be read."""
    check_writable(out)
    if not out.exists():
        return
    sources = [data]
    if data.is_dir() or data.name.startswith("nodes."):  # the edges lie beside the nodes
        folder = data if data.is_dir() else data.parent
        sources = [path for pattern in READ_IN_FOLDERS for path in folder.glob(pattern)]
    if any(path.is_file() and out.samefile(path) for path in sources):
        raise UserError(f"--out {out}: is the file to be read; choose another")
