"""Several workers of a Ray cluster that train one model together: Ray Train starts them and starts them again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist

from mshgnn.errors import Failure, UserError
from mshgnn.lab.engines import OnProgress
from mshgnn.lab.engines.ray import RETRIES, Head, cluster, import_ray, on_this_node
from mshgnn.lab.engines.together import fold_checkpoint
from mshgnn.lab.errors import FoldFailed, LabError
from mshgnn.lab.fold import FoldJob, run_fold
from mshgnn.lab.setup import LoadedData, data_bytes
from mshgnn.records.run import FoldResult
from mshgnn.training.parallel import WorkerLost, Workers, join

Value = TypeVar("Value")


class RayTrainEngine:
    """Folds one after another, each by ``workers`` processes of the cluster; the data set reaches each node once.

    The run's folder must be the same on every node: a fold under way has its checkpoint there.
    """

    def __init__(self, workers: int, address: str | None, folder: Path, digest: str) -> None:
        self.workers, self.address, self.folder, self.digest = workers, address, folder.absolute(), digest

    def run(self, jobs: Sequence[FoldJob], data: LoadedData, on_progress: OnProgress) -> Iterator[FoldResult]:
        """Results in the order of the jobs; progress within a fold stays on its node."""
        with cluster(self.address, self.workers, data_bytes(data)) as ray:  # one for all folds
            shared = ray.put(data)
            for job in jobs:
                work = partial(_fold, job, shared, self.folder, self.digest)
                result: FoldResult = train_by_ray(work, self.workers, self.address, self.folder)
                yield result
                fold_checkpoint(self.folder, job.key, self.digest).remove()


def _fold(job: FoldJob, shared: Any, folder: Path, digest: str, workers: Workers) -> FoldResult:
    data: LoadedData = import_ray().get(shared)
    kept = fold_checkpoint(folder, job.key, digest)
    return on_this_node(run_fold(job, data, checkpoint=kept, workers=workers))


class _Refused(NamedTuple):
    """What the first worker says instead of a result: one line, and whether the user can put it right."""

    line: str
    by_the_user: bool


def train_by_ray(work: Callable[[Workers], Value | None], workers: int, address: str | None, folder: Path) -> Value:
    """What the first of so many workers of the cluster makes of ``work``; when one is lost, all are started again.

    ``work`` must go on from what it kept in ``folder``; Ray keeps its notes beside it meanwhile.
    """
    notes = folder.with_name(f".{folder.name}.ray")
    with cluster(address, workers) as ray:
        found = int(ray.cluster_resources().get("CPU", 0))
        if found < workers:
            raise LabError(f"--workers {workers}: the cluster has {found} processors")
        trainer = _trainer(work, workers, notes)
        try:
            with Head(ray).watched():
                value: Value | _Refused | None = trainer.fit().return_value
        except _failures() as error:
            raise FoldFailed(f"the workers failed {RETRIES + 1} times: {_reason(error)}") from None
        finally:
            shutil.rmtree(notes, ignore_errors=True)
    if isinstance(value, _Refused):
        raise LabError(value.line) if value.by_the_user else FoldFailed(value.line)
    if value is None:
        raise FoldFailed(f"the workers lost each other: is {folder}, and what is read, there on every node?")
    return value


def _trainer(work: Callable[[Workers], Any], workers: int, notes: Path) -> Any:
    try:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer
    except ImportError:
        raise LabError("--workers: needs the extra, pip install 'mshgnn[ray]'") from None
    return TorchTrainer(
        _work,
        train_loop_config={"work": work},
        torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=torch.cuda.is_available()),
        run_config=RunConfig(
            name="workers", storage_path=str(notes), failure_config=FailureConfig(max_failures=RETRIES)
        ),
    )


def _work(given: dict[str, Any]) -> Any:
    """One worker. A loss of another one is told by that one's death, which Ray sees; this one just ends."""
    with join() as workers:
        try:
            return given["work"](workers)
        except WorkerLost:
            return None
        except (UserError, Failure) as error:  # raised, it would be tried again and again
            dist.destroy_process_group()  # so that nobody waits for this worker
            return _Refused(str(error), isinstance(error, UserError))


def _failures() -> type[Exception]:
    from ray.train import TrainingFailedError

    failures: type[Exception] = TrainingFailedError
    return failures


def _reason(error: Exception) -> str:
    """The first line of what a worker raised, or of what Ray says."""
    raised = getattr(error, "worker_failures", None)
    first = next(iter(raised.values())) if raised else error
    return (str(first).strip().splitlines() or [type(first).__name__])[-1]
