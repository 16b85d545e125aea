"""The kernels as machine code: from the disk if they are there, else compiled, which is said once."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

COMPILE_SECONDS = 20
ANNOUNCE_AFTER = 2.0  # seconds; a load from the disk cache takes less


class Kernels(NamedTuple):
    """A pair of compiled kernels; what each takes, its own definition says."""

    forward: Callable[..., int]
    backward: Callable[..., int]


class Known(NamedTuple):
    """What the factored kernels of one kind of layer know when they are compiled."""

    rank: int
    num_bands: int


class _Announcement:
    """Says that kernels are being compiled, unless they came from the disk in no time."""

    def __init__(self) -> None:
        self._timer = threading.Timer(ANNOUNCE_AFTER, self._say)
        self._timer.daemon = True

    def _say(self) -> None:
        text = f"mshgnn: compiling CPU kernels (once per machine, about {COMPILE_SECONDS} s)"
        print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


@cache
def register_width() -> int:
    """How many float32 numbers one register of this processor holds."""
    from llvmlite.binding import get_host_cpu_features  # type: ignore[import-untyped]

    return 16 if get_host_cpu_features().get("avx512f") else 8


@cache
def source_digest() -> int:
    """A number that changes with any file of this folder: part of the key under which machine code is kept."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return int(hashlib.sha256(sources).hexdigest()[:12], 16)


@cache
def kernels(lanes: int, register: int) -> Kernels:
    """Those of the full generator; see :func:`mshgnn.ops.backends.cpu.tile_kernels.build_kernels`."""
    from mshgnn.ops.backends.cpu.tile_kernels import build_kernels

    with _Announcement():
        return Kernels(*build_kernels(lanes, register, source_digest()))


@cache
def factored_kernels(lanes: int, known: Known | None) -> Kernels:
    """Those of the factored phase; see :mod:`mshgnn.ops.backends.cpu.factored_forward`."""
    from mshgnn.ops.backends.cpu.factored_backward import build_backward
    from mshgnn.ops.backends.cpu.factored_forward import build_forward

    with _Announcement():
        return Kernels(build_forward(lanes, known, source_digest()), build_backward(lanes, known, source_digest()))
