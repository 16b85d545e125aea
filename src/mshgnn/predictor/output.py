"""The file that a command writes is not the file it reads."""

from __future__ import annotations

from pathlib import Path

from mshgnn.errors import UserError
from mshgnn.files import check_writable

READ_IN_FOLDERS = ("nodes.*", "edges.*", "*.npy", "*.arrow", "*.txt")
"""Files of a folder that may be a graph's own: tables, arrays, TU text."""


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
