"""The engine of several workers: folds one after another, each trained by all workers together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from mshgnn import __version__
from mshgnn.lab.engines import OnProgress
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.fold import FoldJob, run_fold
from mshgnn.lab.setup import LoadedData, load_data
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.parallel import Workers


class TogetherEngine:
    """What the first worker does; the others :func:`follow`.

    Args:
        workers: all of them.
        folder: of the run; a fold under way has a checkpoint there.
        digest: of the run: a checkpoint of another one is not gone on with.
    """

    def __init__(self, workers: Workers, folder: Path, digest: str) -> None:
        self.workers, self.folder, self.digest = workers, folder, digest

    def run(self, jobs: Sequence[FoldJob], data: LoadedData, on_progress: OnProgress) -> Iterator[FoldResult]:
        """Results in the order of the jobs. Called without jobs, too: the others wait to hear of them."""
        self.workers.agree(([job.key for job in jobs], self.digest))
        for job in jobs:
            kept = fold_checkpoint(self.folder, job.key, self.digest)
            yield run_fold(job, data, partial(on_progress, job.key), checkpoint=kept, workers=self.workers)
            kept.remove()  # the result is stored by now


def follow(experiment: Experiment, folder: Path, workers: Workers) -> None:
    """What the other workers do: train the folds that the first one names, and write nothing."""
    data = load_data(experiment)
    nothing: tuple[list[FoldKey], str] = [], ""
    keys, digest = workers.agree(nothing)
    for key in keys:
        run_fold(FoldJob(experiment, key), data, checkpoint=fold_checkpoint(folder, key, digest), workers=workers)


def fold_checkpoint(folder: Path, key: FoldKey, digest: str) -> Checkpoint:
    """The state of a fold under way, beside the finished ones; another version of the package starts it anew."""
    return Checkpoint(folder / "folds" / f"{key}.checkpoint", f"{__version__}/{digest}/{key}")
