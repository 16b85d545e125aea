"""Python threads for the kernels: each runs whole chunks, with a BLAS of one thread.

numba's own thread pool is never started, so torch keeps its threads whichever is imported first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch


class _Pool:
    """A thread pool of the size torch asks for; a new one after a change of size or a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._key = (0, 0)

    def get(self, size: int) -> ThreadPoolExecutor:
        key = (os.getpid(), size)
        with self._lock:
            if self._executor is None or self._key != key:
                if self._executor is not None and self._key[0] == key[0]:
                    self._executor.shutdown(wait=True)
                self._executor = _start(size)
                self._key = key
            return self._executor


def _start(size: int) -> ThreadPoolExecutor:
    threads = torch.get_num_threads()
    barrier = threading.Barrier(size)

    def begin() -> None:
        torch.get_num_threads()  # the first look in a thread takes over the default: not after the setting below
        barrier.wait()
        torch.set_num_threads(1)  # this thread's own setting, and the default of threads to come: put back below

    executor = ThreadPoolExecutor(size, thread_name_prefix="mshgnn")
    for done in [executor.submit(begin) for _ in range(size)]:
        done.result()
    torch.set_num_threads(threads)
    return executor


_pool = _Pool()


def run_chunks(work: Callable[[int], None], count: int) -> None:
    """Call ``work(0) .. work(count - 1)``, on as many threads as ``torch.get_num_threads()`` allows.

    The chunks are the same for any number of threads, and so are the bits of the result: the matrix products inside a
    chunk always run on one thread.
    """
    size = torch.get_num_threads()
    if size == 1:
        for chunk in range(count):
            work(chunk)
        return
    remaining = iter(range(count))

    def take() -> None:
        for chunk in remaining:  # one range iterator: taking the next is atomic
            work(chunk)

    executor = _pool.get(size)
    for done in [executor.submit(take) for _ in range(min(size, count))]:
        done.result()
