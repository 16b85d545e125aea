"""The file that a command writes: refused before the work where it cannot be, there whole or not at all after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mshgnn.errors import UserError
from mshgnn.records.codec import written_beside

READ_IN_FOLDERS = ("nodes.*", "edges.*", "*.npy", "*.arrow", "*.txt")
"""Files of a folder that may be a graph's own: tables, arrays, TU text."""


def check_out(out: Path, data: Path) -> None:
    """Refuse to write to a folder, and over what is to be read."""
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder; name a file")
    if not out.exists():
        return
    sources = [data]
    if data.is_dir() or data.name.startswith("nodes."):  # the edges lie beside the nodes
        folder = data if data.is_dir() else data.parent
        sources = [path for pattern in READ_IN_FOLDERS for path in folder.glob(pattern)]
    if any(path.is_file() and out.samefile(path) for path in sources):
        raise UserError(f"--out {out}: is the file to be read; choose another")


@contextmanager
def written(out: Path) -> Iterator[IO[bytes]]:
    """A file that becomes ``out`` if the block ends well; folders that are missing are made."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_beside(out) as file:
            yield file
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error})") from None
