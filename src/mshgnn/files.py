"""The doors to files: one to read what somebody else may have put there, one to write whole or not at all."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mshgnn.errors import UserError

TEMPORARY = ".writing"
MOST_DIGITS = 250
"""So long may a whole number be, also in hexadecimal: a float can hold it, and Python can write it into an error."""


def read_regular(path: Path) -> bytes:
    """The bytes of a file; what is no file is a ``ValueError``: a pipe would wait for ever, a device never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the system says so itself
        raise ValueError("not a regular file")
    return path.read_bytes()


def read_text(path: Path) -> str:
    """The text of a file; what cannot be read as one is one line."""
    try:
        return read_regular(path).decode()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}") from None


def read_json(path: Path) -> Any:
    """The value in a JSON file, its shape unchecked; what is no JSON is one line."""
    text = read_text(path)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: not JSON ({error})") from None


def parse_json(text: str | bytes) -> Any:
    """The value that a text stands for; ``ValueError`` for no JSON, ``RecursionError`` for one nested too deeply."""
    return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def check_writable(path: Path) -> None:
    """Refuse, before the work for it, a place that no file can be written to."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: cannot be written (not a regular file)")
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise UserError(f"{path}: cannot be written ({above} is not a folder)")
    if not os.access(above, os.W_OK):
        raise UserError(f"{path}: cannot be written (no permission in {above})")


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A file of the user's choice that becomes ``path`` if the block ends well; missing folders are made.

    A link stays one: the file that it names is written. A device or a pipe is refused, for a file would take its place.
    """
    check_writable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_beside(path.resolve()) as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole content or nothing."""
    with written_beside(path) as file:
        file.write(content)


@contextmanager
def written_beside(path: Path) -> Iterator[IO[bytes]]:
    """A file beside ``path``, under a name that nobody has, which takes its place if the block ends well.

    It is synced, renamed, and the folder synced: after a power cut the file is whole or absent.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # a temporary file is private; the finished one is like any other
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
