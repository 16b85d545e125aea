"""The Ray engine: folds and seeds become Ray tasks, here or on an existing cluster."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from mshgnn.lab.engines import OnProgress
from mshgnn.lab.errors import FoldFailed, LabError
from mshgnn.lab.fold import FoldJob, run_fold
from mshgnn.lab.setup import LoadedData
from mshgnn.records.run import FoldResult

RETRIES = 5
"""How often Ray starts a task again after its worker or node died; an exception is not retried."""


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
        ray = import_ray(own=self.address is None)
        ours = not ray.is_initialized()
        if ours:
            _start(ray, self.address, self.workers)
        try:
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(run_fold)
            shared = ray.put(data)
            waiting = list(jobs)
            limit = self.workers or len(waiting)
            running: dict[Any, FoldJob] = {}
            while waiting or running:
                while waiting and len(running) < limit:
                    job = waiting.pop(0)
                    running[task.remote(job, shared)] = job
                ready, _ = ray.wait(list(running), num_returns=1)
                job = running.pop(ready[0])
                try:
                    result: FoldResult = ray.get(ready[0])
                except ray.exceptions.RayError as error:
                    raise FoldFailed(f"{job.key}: {error}") from None
                yield result
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
    return ray


def use_passing_token() -> None:
    """Give a Ray of our own a token in the environment, unless the user has settled how Ray authenticates.

    Ray 2.60 wants a token and else writes one under the home folder; this one ends with the process.
    """
    if not any(name in os.environ for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _start(ray: Any, address: str | None, workers: int | None) -> None:
    """Join the cluster at ``address``, or start one on this machine."""
    if address is None:
        use_passing_token()
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except ConnectionError as error:
        raise LabError(f"--ray-address {address}: {str(error).splitlines()[0]}") from None
