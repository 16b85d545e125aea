"""Folds side by side in real processes, on MUTAG."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
import pytest
from lab_helpers import make_experiment

from mshgnn.lab.engines.local import LocalEngine
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.fold import FoldJob
from mshgnn.lab.setup import load_data
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport
from support.mirror import needs_mirror

pytestmark = needs_mirror


def mutag(epochs: int) -> Experiment:
    return make_experiment(dataset={"name": "MUTAG"}, training={"epochs": epochs}, seeds=[0, 1])


def make_jobs(experiment: Experiment, folds: int) -> list[FoldJob]:
    return [FoldJob(experiment, FoldKey(seed, fold)) for seed in experiment.seeds for fold in range(folds)]


def by_key(results: list[FoldResult]) -> dict[FoldKey, Curves]:
    return {result.key: result.curves for result in results}


def ignore(key: FoldKey, report: EpochReport) -> None:
    """Nobody watches."""


def test_side_by_side_gives_the_same_bits_as_one_by_one() -> None:
    experiment = mutag(epochs=2)
    data, jobs = load_data(experiment), make_jobs(experiment, folds=2)
    alone = by_key(list(LocalEngine(1).run(jobs, data, ignore)))
    together = by_key(list(LocalEngine(2).run(jobs, data, ignore)))
    assert together == alone
    assert len(alone) == 4
    assert alone[FoldKey(0, 0)] != alone[FoldKey(1, 0)]


def test_a_worker_that_is_killed_is_replaced() -> None:
    experiment = mutag(epochs=30)
    data, jobs = load_data(experiment), make_jobs(experiment, folds=1)
    killed: list[int] = []

    def kill_once(key: FoldKey, report: EpochReport) -> None:
        if not killed:
            killed.append(busiest_worker())
            os.kill(killed[0], signal.SIGKILL)

    survived = by_key(list(LocalEngine(2).run(jobs, data, kill_once)))
    assert killed
    assert survived == by_key(list(LocalEngine(1).run(jobs, data, ignore)))


def busiest_worker() -> int:
    """A process that is training: a grandchild through the fork server."""
    children = psutil.Process().children(recursive=True)
    return int(max(children, key=lambda child: child.cpu_times().user).pid)


def deliver_and_die(pipe: Connection) -> None:
    """A worker that is killed between two folds."""
    job = pipe.recv()
    point = np.array([0.5])
    pipe.send(FoldResult(job.key, Curves(point, point, point, point, point, point, (1, 1, 1)), 0.0, 0.0, 0, {}))
    os._exit(9)


def test_no_finished_fold_is_lost_when_workers_die_between_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mshgnn.lab.engines.local._work", deliver_and_die)
    experiment = mutag(epochs=1)
    data, jobs = load_data(experiment), make_jobs(experiment, folds=2)
    found = []
    for result in LocalEngine(2).run(jobs, data, ignore):
        found.append(result.key)
        time.sleep(0.2)  # long enough for the worker to be gone
    assert sorted(found) == [job.key for job in jobs]


FAILING = """
from test_local_engine import ignore, mutag
from mshgnn.lab.engines.local import LocalEngine
from mshgnn.lab.fold import FoldJob
from mshgnn.lab.setup import load_data
from mshgnn.records.run import FoldKey

if __name__ == "__main__":
    experiment = mutag(epochs=2)
    jobs = [FoldJob(experiment, FoldKey(0, fold)) for fold in (99, 100)]
    list(LocalEngine(2).run(jobs, load_data(experiment), ignore))
"""


def test_an_error_in_a_fold_is_told_and_the_others_are_stopped(tmp_path: Path) -> None:
    # In a process of its own: this one's fork server has been given its error stream by an earlier test.
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    helpers = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=helpers, timeout=300)
    assert done.returncode == 1
    assert "IndexError" in done.stderr
    assert re.search(r"FoldFailed: seed0-fold\d+: failed, see the error above", done.stderr)


def test_leaving_early_stops_the_workers() -> None:
    experiment = mutag(epochs=1000)
    before = set(psutil.Process().children(recursive=True))
    results = LocalEngine(2).run(make_jobs(experiment, 1), load_data(experiment), stop)
    with pytest.raises(KeyboardInterrupt):
        next(results)
    left = [child for child in set(psutil.Process().children(recursive=True)) - before if is_worker(child)]
    assert left == []


def stop(key: FoldKey, report: EpochReport) -> None:
    raise KeyboardInterrupt


def is_worker(process: psutil.Process) -> bool:
    """The fork server and the resource tracker stay for the next pool; their children are workers."""
    return bool(process.is_running() and process.ppid() != os.getpid())


def test_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        LocalEngine(0)
