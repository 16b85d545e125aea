"""The kernels run on torch's own OpenMP threads: each takes whole chunks, with a BLAS of one thread.

Threads of our own would lose to torch's: those spin for some milliseconds after every operator, on the very cores that
ours need (a dense batch took as long on two threads as on one). For the same reason numba's pool is never started.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

import torch

_Region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Team:
    """OpenMP's parallel region, by the entry point that the runtimes of GNU, LLVM and Intel share."""

    def __init__(self) -> None:
        runtime = None if sys.platform == "win32" else ctypes.CDLL(None)
        self._parallel = getattr(runtime, "GOMP_parallel", None)
        self._process = os.getpid()

    def run(self, action: Callable[[], None], size: int) -> None:
        """Call ``action`` on ``size`` threads at once.

        On this thread alone without OpenMP, and after a fork, which copies no threads: a region would wait for them.
        """
        if size == 1 or self._parallel is None or self._process != os.getpid():
            action()
            return
        errors: list[BaseException] = []

        def guarded(_: object) -> None:
            try:
                action()
            except BaseException as error:  # OpenMP knows no exceptions: raised again where the region began
                errors.append(error)

        self._parallel(_Region(guarded), None, size, 0)
        if errors:
            raise errors[0]


_team = _Team()
_one_at_a_time = threading.Lock()  # the number of threads of BLAS is one for the whole process


def run_chunks(work: Callable[[int], None], count: int, *, with_blas: bool = False) -> None:
    """Call ``work(0) .. work(count - 1)``, on as many threads as ``torch.get_num_threads()`` allows.

    The chunks are the same for any number of threads, and so are the bits of the result. ``with_blas``: the work calls
    torch's matrix products, which cut their sums by the number of threads that torch was told; it is one meanwhile.
    """
    remaining = iter(range(count))

    def take() -> None:
        for chunk in remaining:  # one range iterator: taking the next is atomic
            work(chunk)

    threads = torch.get_num_threads()
    if threads == 1 or (count == 1 and not with_blas):
        take()
    elif not with_blas:
        _team.run(take, min(threads, count))
    else:
        with _one_at_a_time:
            torch.set_num_threads(1)
            try:
                _team.run(take, min(threads, count))
            finally:
                torch.set_num_threads(threads)
