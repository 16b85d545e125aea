"""Reading files that somebody else may have put there."""

from __future__ import annotations

import stat
from pathlib import Path


def read_regular(path: Path) -> bytes:
    """The bytes of a file; what is no file is a ``ValueError``: a pipe would wait for ever, a device never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the system says so itself
        raise ValueError("not a regular file")
    return path.read_bytes()
