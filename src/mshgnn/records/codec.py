"""Plain JSON with a checksum: read only as it was written. No pickle."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

from mshgnn.files import parse_json

FORMAT = 1
MAX_BYTES = 512 * 2**20
"""No file of ours unpacks to more; the largest committed record has less than a hundredth of it."""
ALWAYS_ALLOWED, GROWTH = 16 * 2**20, 100
"""Above so many bytes a file unpacks to no more than so many times its own size; those of ours reach a tenth of it."""


def encode(payload: Mapping[str, Any], *, compress: bool) -> bytes:
    """A payload with its format number and checksum as JSON bytes; the same payload gives the same bytes."""
    content = json.dumps({"format": FORMAT, "sha256": checksum(payload), "payload": payload}, allow_nan=False).encode()
    return gzip.compress(content, mtime=0) if compress else content + b"\n"


def decode(content: bytes) -> dict[str, Any]:
    """The payload of :func:`encode`; ``ValueError`` when anything about it is not as written."""
    try:
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content)
        values = parse_json(content)
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


def _unpacked(content: bytes) -> bytes:
    """What gzip packed, if it ends where it should and is not larger than anything we write."""
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, GROWTH * len(content)))
    packed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    unpacked = packed.decompress(content, limit)
    if packed.unconsumed_tail:
        raise ValueError(f"{len(content):,} bytes unpack to more than {limit:,}")
    if not packed.eof or packed.unused_data:
        raise ValueError("not readable: the compressed part ends too early or too late")
    return unpacked
