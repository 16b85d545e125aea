"""Plain JSON with a checksum: written whole or not at all, read only as it was written. No pickle."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

FORMAT = 1
TEMPORARY = ".writing"
MAX_BYTES = 512 * 2**20
"""No file of ours unpacks to more; the largest committed record has less than a hundredth of it."""


def encode(payload: Mapping[str, Any], *, compress: bool) -> bytes:
    """A payload with its format number and checksum as JSON bytes; the same payload gives the same bytes."""
    content = json.dumps({"format": FORMAT, "sha256": checksum(payload), "payload": payload}, allow_nan=False).encode()
    return gzip.compress(content, mtime=0) if compress else content + b"\n"


def decode(content: bytes) -> dict[str, Any]:
    """The payload of :func:`encode`; ``ValueError`` when anything about it is not as written."""
    try:
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content)
        values = json.loads(content)
        payload: dict[str, Any] = values["payload"]
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']} is not known")
        if checksum(payload) != values["sha256"]:
            raise ValueError("checksum does not fit")
    except (zlib.error, UnicodeDecodeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not readable: {error}") from None
    return payload


def checksum(values: object) -> str:
    """SHA-256 of plain JSON values, the order of keys apart."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def first_difference(before: object, now: object, key: str = "") -> str:
    """Where two nested values first differ, in words."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                return first_difference(before.get(name), now.get(name), f"{key}.{name}".lstrip("."))
    return f"{key} was {before!r}, is now {now!r}".strip()


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


def _unpacked(content: bytes) -> bytes:
    """What gzip packed, if it ends where it should and is not larger than anything we write."""
    packed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    unpacked = packed.decompress(content, MAX_BYTES)
    if packed.unconsumed_tail:
        raise ValueError(f"unpacks to more than {MAX_BYTES // 2**20} MB")
    if not packed.eof or packed.unused_data:
        raise ValueError("not readable: the compressed part ends too early or too late")
    return unpacked


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
