"""The local engine: folds one after another here, or side by side in processes of one thread each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from mshgnn.lab.engines import OnProgress
from mshgnn.lab.errors import FoldFailed
from mshgnn.lab.fold import FoldJob, run_fold
from mshgnn.lab.setup import LoadedData, load_data
from mshgnn.machine import keep_freed_blocks
from mshgnn.records.run import FoldResult
from mshgnn.training.loop import EpochReport

SECONDS_BETWEEN_REPORTS = 0.25
ATTEMPTS = 2
"""How often a fold is tried when its process dies (out of memory, say)."""


class LocalEngine:
    """Folds in ``workers`` processes; one worker means this very process.

    Processes come from a clean server that has only imported things, never from a fork of this process:
    torch's thread pools do not survive a fork.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.workers = workers

    def run(self, jobs: Sequence[FoldJob], data: LoadedData, on_progress: OnProgress) -> Iterator[FoldResult]:
        """Results as they come, in any order."""
        if self.workers == 1 or len(jobs) == 1:
            for job in jobs:
                yield run_fold(job, data, partial(on_progress, job.key))
        else:
            yield from _run_side_by_side(jobs, min(self.workers, len(jobs)), on_progress)


@dataclass
class _Worker:
    """A process, our end of its pipe, and what it is working on."""

    process: BaseProcess
    pipe: Connection
    job: FoldJob

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def _run_side_by_side(jobs: Sequence[FoldJob], workers: int, on_progress: OnProgress) -> Iterator[FoldResult]:
    """A pool with one pipe per worker: a worker that dies closes its pipe and harms nobody else."""
    waiting = deque(jobs)
    attempts = dict.fromkeys((job.key for job in jobs), 0)
    pool: dict[Connection, _Worker] = {}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mshgnn.lab.fold"])

    def give(worker: _Worker) -> None:
        worker.job = waiting.popleft()
        attempts[worker.job.key] += 1
        with suppress(ConnectionError):  # a worker that has died is found by the end of its pipe
            worker.pipe.send(worker.job)

    def start() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupts_held():
            process.start()
        theirs.close()
        pool[ours] = _Worker(process, ours, waiting[0])
        give(pool[ours])

    try:
        for _ in range(workers):
            start()
        while pool:
            for pipe in wait(list(pool)):
                assert isinstance(pipe, Connection)
                worker = pool[pipe]
                try:
                    message = pipe.recv()
                except (EOFError, ConnectionError):
                    del pool[pipe]
                    worker.process.join()
                    if worker.process.exitcode == 1:  # an exception, told on stderr by the process itself
                        raise FoldFailed(f"{worker.job.key}: failed, see the error above") from None
                    if attempts[worker.job.key] == ATTEMPTS:
                        died = f"its process died {ATTEMPTS} times (out of memory?)"
                        raise FoldFailed(f"{worker.job.key}: {died}") from None
                    waiting.appendleft(worker.job)
                    start()
                    continue
                if isinstance(message, EpochReport):
                    on_progress(worker.job.key, message)
                    continue
                if waiting:
                    give(worker)
                else:
                    del pool[pipe]
                    worker.stop()
                yield message
    finally:
        for worker in pool.values():
            worker.stop()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait while a process starts, and for ever in the process: a terminal sends it to all of them.

    What is started meanwhile, the fork server with all its later children, inherits the block. A worker is stopped by
    its parent; interrupted by itself it would print a traceback.
    """
    resource_tracker.ensure_running()  # which lifts the block when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection) -> None:
    """A worker's life: jobs come in by the pipe, reports and results go out by it.

    When the parent is gone the pipe breaks and the worker ends, so a killed run leaves no orphans.
    """
    keep_freed_blocks()
    data: LoadedData | None = None
    try:
        while True:
            job: FoldJob = pipe.recv()
            data = data or load_data(job.experiment)
            pipe.send(run_fold(job, data, _Reporter(pipe)))
    except (EOFError, ConnectionError):
        os._exit(0)


class _Reporter:
    """Sends an epoch's report, but not more often than a person can read."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.last = 0.0

    def __call__(self, report: EpochReport) -> None:
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_REPORTS:
            self.last = now
            self.pipe.send(report)
