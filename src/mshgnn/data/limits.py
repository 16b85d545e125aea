"""One policy against files that are small on disk and huge in memory.

Every limit is checked before anything of that size is allocated, and said in one line: what, where, how much. Data that
is honestly so large raises a limit by the environment, for example ``MSHGNN_LIMITS="memory=16e9 atoms=5000"``.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from mshgnn.data.dataset import DataError
from mshgnn.errors import did_you_mean

VARIABLE = "MSHGNN_LIMITS"
LimitName = Literal["memory", "line", "unpacked", "growth", "nodes", "columns", "classes", "atoms", "rings"]
LIMITS: dict[LimitName, int] = {
    "memory": 4 * 10**9,  # bytes of one data set's tensors (the largest of the paper's has 1.2e9)
    "line": 8 * 10**6,  # bytes of one line of text
    "unpacked": 2 * 10**9,  # bytes an archive may unpack to
    "growth": 2_000,  # bytes of tensors for each byte of the file they are made of, above ALWAYS_ALLOWED bytes
    "nodes": 10**7,  # nodes of one graph
    "columns": 10**4,  # one-hot columns of node or edge labels
    "classes": 10**5,  # classes of one target
    "atoms": 2_000,  # atoms of one molecule
    "rings": 300,  # independent rings of one molecule
}
UNITS: dict[LimitName, str] = {"memory": "bytes in memory", "line": "bytes in a line", "unpacked": "bytes unpacked"}
FLOAT = 4
"""Bytes of one feature."""
ALWAYS_ALLOWED = 10**8
"""Bytes of tensors that any file may become."""
NODE_BYTES = 4096
"""What a node takes once a model works on it: its features, and its hidden numbers in every layer."""


def allowed(name: LimitName) -> int:
    """The limit in force: the stated one, or what ``MSHGNN_LIMITS`` says."""
    raised = {}
    for word in os.environ.get(VARIABLE, "").replace(",", " ").split():
        key, _, value = word.partition("=")
        if key not in LIMITS:
            raise DataError(f"{VARIABLE}: unknown limit {key!r}{did_you_mean(key, LIMITS)}")
        try:
            raised[key] = int(float(value))
        except (ValueError, OverflowError) as error:
            raise DataError(f"{VARIABLE}: {key} must be a number, not {value!r}") from error
    return raised.get(name, LIMITS[name])


def check_limit(name: LimitName, amount: int, where: str | Path) -> None:
    """Refuse an amount above its limit; called before the amount is allocated.

    Memory for the content of a file, or of a folder of files, given as a path, must also be in proportion to its size.
    """
    limit = allowed(name)
    if amount > limit:
        unit = UNITS.get(name, name)
        raise DataError(
            f"{where}: {amount:,} {unit}, more than the limit of {limit:,}; if it is meant, {VARIABLE}={name}={amount}"
        )
    if name == "memory" and isinstance(where, Path) and where.exists():  # a table in memory has a name alone
        check_growth(amount, size_of(where), where)


def check_growth(num_bytes: int, source_bytes: int, where: str | Path) -> None:
    """Refuse tensors that are large, and out of all proportion to what they are made of."""
    limit = allowed("growth")
    if num_bytes > max(ALWAYS_ALLOWED, limit * source_bytes):
        needed = -(-num_bytes // max(source_bytes, 1))
        raise DataError(
            f"{where}: {source_bytes:,} bytes would become {num_bytes:,} in memory, more than {limit:,} times as many; "
            f"if it is meant, {VARIABLE}=growth={needed}"
        )


def check_nodes(nodes: int, source_bytes: int, where: str | Path, *, columns: int = 0) -> None:
    """Refuse many nodes that were said in few words: a number counts them, or a compressed array of zeros.

    ``columns`` are those of their features, where it is known that they will be many.
    """
    check_growth(nodes * max(NODE_BYTES, FLOAT * columns), source_bytes, where)


def size_of(path: Path) -> int:
    """The bytes of a file, or of the files in a folder."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())  # a link may lead nowhere


def check_file(path: Path) -> None:
    """Refuse what is not a regular file before it is opened: a pipe would wait for ever, a device never end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise DataError(f"{path}: {'file not found' if missing else error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise DataError(f"{str(path)!r}: not a file name ({error})") from error
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: a folder, not a file")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: not a regular file")
