"""The Ray engine: folds and seeds become Ray tasks, here or on an existing cluster."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mshgnn.lab.engines import OnProgress
from mshgnn.lab.errors import FoldFailed, LabError, RunFailed
from mshgnn.lab.fold import FoldJob, run_fold
from mshgnn.lab.setup import LoadedData, data_bytes
from mshgnn.records.run import FoldResult

OLDEST = 2, 60
"""The first version of Ray that was tried: older ones know neither passing tokens nor how to stay on the loopback."""
RETRIES = 5
"""How often Ray starts a task again after its worker or node died; an exception is not retried."""
SECONDS_BETWEEN_LOOKS = 1.0
"""So often it is looked whether the cluster is still there: a Ray that has lost its head ends this process soon."""
SECONDS_TO_ANSWER = 5.0
"""So long a head may take to accept a connection. Ray itself would try for minutes."""
SMALLEST_STORE = 80 * 2**20
"""Bytes of an object store below which Ray does not start."""


class ClusterLost(RunFailed):
    """The head of the cluster is gone: no task can be given out or come back."""


class RayEngine:
    """Folds as Ray tasks of one processor each, at most ``workers`` at a time (``None``: all that fit).

    Without an address a Ray of our own is started and stopped; with one, the cluster's own rules and tokens
    apply. The data set goes to the object store once and reaches each node once.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.workers = workers
        self.address = address

    def run(self, jobs: Sequence[FoldJob], data: LoadedData, on_progress: OnProgress) -> Iterator[FoldResult]:
        """Results as they come; progress within a fold stays on its node."""
        with cluster(self.address, self.workers, data_bytes(data)) as ray:
            head = Head(ray)
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_fold_on_node)
            shared = ray.put(data)
            waiting = list(jobs)
            limit = self.workers or len(waiting)
            running: dict[Any, FoldJob] = {}
            while waiting or running:
                while waiting and len(running) < limit:
                    job = waiting.pop(0)
                    running[task.remote(job, shared)] = job
                ready, _ = ray.wait(list(running), num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
                if not ready:
                    head.check()
                    continue
                job = running.pop(ready[0])
                try:
                    result: FoldResult = ray.get(ready[0])
                except ray.exceptions.RayError as error:
                    raise FoldFailed(f"{job.key}: {error}") from None
                yield result


def _fold_on_node(job: FoldJob, data: LoadedData) -> FoldResult:
    """A fold wherever Ray puts it; the result says where that was."""
    return on_this_node(run_fold(job, data))


def on_this_node(result: FoldResult) -> FoldResult:
    """The result with the name of the machine and Ray's number of the node."""
    node = import_ray().get_runtime_context().get_node_id()
    return replace(result, environment={**result.environment, "node": f"{socket.gethostname()}/{node[:8]}"})


class Head:
    """The head of the cluster this process has joined, to see whether it is still there.

    When it is gone, Ray waits for a minute and then ends the process with a page of text.
    """

    def __init__(self, ray: Any) -> None:
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self.place = host.strip("[]"), int(port)

    def check(self) -> None:
        """Raise if nobody answers."""
        try:
            socket.create_connection(self.place, timeout=SECONDS_TO_ANSWER).close()
        except OSError:
            raise ClusterLost(f"the head of the Ray cluster, {':'.join(map(str, self.place))}, is lost") from None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look now and then while Ray waits in the block, which would not notice. In the main thread alone."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        lost: list[ClusterLost] = []

        def look(*_: object) -> None:
            try:
                self.check()
            except ClusterLost as error:
                lost.append(error)
                raise KeyboardInterrupt from None  # the only error that ends Ray's waiting

        before = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LOOKS)
        try:
            yield
        except KeyboardInterrupt:
            if lost:
                raise lost[0] from None
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@contextmanager
def cluster(address: str | None, processors: int | None, store_bytes: int = 0) -> Iterator[Any]:
    """Ray, joined to the cluster at ``address`` or started here with so many processors; a Ray that was there stays."""
    ray = import_ray(own=address is None)
    ours = not ray.is_initialized()
    if ours:
        _start(ray, address, processors, store_bytes)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def import_ray(*, own: bool = False) -> Any:
    """Ray, which is an optional extra. ``own``: it will start a Ray of our own, which listens to this machine alone.

    Ray turns a loopback address into the machine's own; only this switch, made for other systems and read at the
    import, keeps it on the loopback. A user's own setting stays.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if own:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError:
        raise LabError("--engine ray: needs the extra, pip install 'mshgnn[ray]'") from None
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        asked = ".".join(map(str, OLDEST))
        raise LabError(f"--engine ray: needs Ray {asked} or later, not {ray.__version__}: pip install 'mshgnn[ray]'")
    return ray


def use_passing_token() -> None:
    """Give a Ray of our own a token in the environment, unless the user has settled how Ray authenticates.

    Ray 2.60 wants a token and else writes one under the home folder; this one ends with the process.
    """
    if not any(name in os.environ for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _start(ray: Any, address: str | None, processors: int | None, store_bytes: int) -> None:
    """Join the cluster at ``address``, or start one on this machine with an object store for the data alone."""
    if address is None:
        use_passing_token()
        store = max(SMALLEST_STORE, 2 * store_bytes)
        ray.init(
            address="local",  # without it, Ray joins whatever cluster it finds on this machine
            num_cpus=processors,
            object_store_memory=store,
            include_dashboard=False,
            log_to_driver=False,
        )
        return
    if "://" in address:
        raise LabError(f"--ray-address {address}: give the head's own address, such as head:6379")
    _knock(address)
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise LabError(f"--ray-address {address}: {str(error).splitlines()[0]}") from None


def _knock(address: str) -> None:
    """Raise if nobody answers at ``HOST:PORT``; words that Ray knows, such as ``auto``, are left to it."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError, UnicodeError) as error:  # nobody, no such port, no such name
        reason = getattr(error, "strerror", None) or error
        raise LabError(f"--ray-address {address}: no Ray answers there ({reason})") from None
