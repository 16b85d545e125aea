"""The kernels run on torch's own OpenMP threads: each takes whole chunks, with a BLAS of one thread.

Threads of our own would lose to torch's: those spin for some milliseconds after every operator, on the very cores that
ours need (a dense batch took as long on two threads as on one). For the same reason numba's pool is never started.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import torch

_Region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
FORKED_WITHOUT_EXEC = 0x40  # Linux's PF_FORKNOEXEC, in the ninth field of /proc/self/stat


def is_forked() -> bool:
    """Whether this process was forked off another and runs the same program on: Linux alone tells."""
    with suppress(OSError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        return bool(int(fields[6]) & FORKED_WITHOUT_EXEC)
    return False


class _Team:
    """OpenMP's parallel region, by the entry point that the runtimes of GNU, LLVM and Intel share."""

    def __init__(self) -> None:
        runtime = None if sys.platform == "win32" else ctypes.CDLL(None)
        self._parallel = getattr(runtime, "GOMP_parallel", None)
        # A fork copies no threads, and a region would wait for the parent's for ever. It may lie before this import.
        self._forked = is_forked()
        self._set_size = getattr(runtime, "omp_set_num_threads", None)
        self._process = os.getpid()

    def is_lost(self) -> bool:
        """Whether the threads have stayed behind in the process that this one was forked off."""
        return self._forked or self._process != os.getpid()

    def none_if_lost(self) -> AbstractContextManager[None]:
        """In a forked process, let torch's own operators keep to this thread, too; no other thread sees that."""
        threads = torch.get_num_threads()
        if threads == 1 or self._set_size is None or not self.is_lost():
            return nullcontext()
        return self._alone(self._set_size, threads)

    @contextmanager
    def _alone(self, set_size: Callable[[int], None], before: int) -> Iterator[None]:
        set_size(1)
        try:
            yield
        finally:
            set_size(before)

    def run(self, action: Callable[[], None], size: int) -> None:
        """Call ``action`` on ``size`` threads at once; on this thread alone without OpenMP and in a forked process."""
        if size == 1 or self._parallel is None or self.is_lost():
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


class _Blas:
    """The number of threads of torch's matrix products, for one thread of the process and no other.

    ``torch.set_num_threads`` would do it for all of them, and for good for those that are born meanwhile.
    """

    def __init__(self) -> None:
        library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
        self._set_own = None
        with suppress(OSError):
            self._set_own = getattr(ctypes.CDLL(str(library)), "MKL_Set_Num_Threads_Local", None)

    @property
    def can_be_told(self) -> bool:
        """Without MKL nothing can; BLAS then takes one thread inside a parallel region alone."""
        return self._set_own is not None

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Matrix products that this thread calls compute on it alone."""
        if self._set_own is None:
            yield
            return
        before = self._set_own(1)
        try:
            yield
        finally:
            self._set_own(before)


def _stay_on_this_thread() -> None:
    """In a process just forked: torch's own operators, too, would wait for the parent's threads for ever."""
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stay_on_this_thread)

_team, _blas = _Team(), _Blas()
safe_after_fork = _team.none_if_lost
"""Around all that an operator does: no thread is waited for that a fork has left behind."""


def run_chunks(work: Callable[[int], None], count: int, *, with_blas: bool = False) -> None:
    """Call ``work(0) .. work(count - 1)``, on as many threads as ``torch.get_num_threads()`` allows.

    The chunks are the same for any number of threads, and so are the bits of the result. ``with_blas``: the work calls
    torch's matrix products, which cut their sums by the number of their threads; each has one.
    """
    remaining = iter(range(count))

    def take() -> None:
        for chunk in remaining:  # one range iterator: taking the next is atomic
            work(chunk)

    def take_with_blas() -> None:
        with _blas.one_thread():
            take()

    threads = torch.get_num_threads()
    size = min(threads, count)
    if with_blas and threads > 1 and not _blas.can_be_told:
        size = max(size, 2)  # a region in any case
    if count:
        _team.run(take_with_blas if with_blas else take, size)
