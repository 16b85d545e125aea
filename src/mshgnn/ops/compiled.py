"""The kernels as machine code: from the disk if they are there, else compiled, which is said once."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

COMPILE_SECONDS = 20
ANNOUNCE_AFTER = 2.0  # seconds; a load from the disk cache takes less


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
def kernels(lanes: int, register: int) -> tuple[Callable[..., int], Callable[..., int]]:
    """The compiled kernels, forward and backward; see :func:`mshgnn.ops.kernels.build_kernels`."""
    from mshgnn.ops import edges, trigonometry, vectors
    from mshgnn.ops import kernels as module
    from mshgnn.ops import lanes as registers

    with _Announcement():
        parts = (module, edges, registers, trigonometry, vectors)
        sources = b"".join(Path(str(part.__file__)).read_bytes() for part in parts)
        digest = int(hashlib.sha256(sources).hexdigest()[:12], 16)
        forward, backward = module.build_kernels(lanes, register, digest)
    return forward, backward
