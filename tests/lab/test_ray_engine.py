"""A real Ray of several nodes on this machine; one is killed in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_helpers import make_data, make_experiment, needs_mirror

from mshgnn.data.sources.store import data_root
from mshgnn.lab.engines.local import LocalEngine
from mshgnn.lab.engines.ray import RayEngine, import_ray, use_passing_token
from mshgnn.lab.errors import LabError
from mshgnn.lab.experiment import check_experiment
from mshgnn.lab.fold import FoldJob
from mshgnn.lab.runner import load_run
from mshgnn.lab.setup import load_data
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport

pytest.importorskip("ray")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without processors, where the data lies, and two nodes of one processor each."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray: Any = import_ray()
    from ray.cluster_utils import Cluster

    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def make_jobs(epochs: int, folds: int = 3) -> list[FoldJob]:
    experiment = make_experiment(training={"epochs": epochs}, seeds=[0, 1])
    return [FoldJob(experiment, FoldKey(seed, fold)) for seed in (0, 1) for fold in range(folds)]


def by_key(results: list[FoldResult]) -> dict[FoldKey, Curves]:
    return {result.key: result.curves for result in results}


def ignore(key: FoldKey, report: EpochReport) -> None:
    """Nobody watches."""


def test_the_run_survives_the_death_of_a_node_with_the_same_numbers(cluster: Any) -> None:
    data, jobs = make_data(), make_jobs(epochs=40)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    results = []
    for result in RayEngine().run(jobs, data, ignore):
        results.append(result)
        if len(results) == 1:
            cluster.remove_node(nodes[0], allow_graceful=False)
    assert by_key(results) == by_key(list(LocalEngine(1).run(jobs, data, ignore)))
    assert len(results) == len(jobs)


def test_an_unknown_address_is_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = import_ray()
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(**_: object) -> None:
        raise ConnectionError("nobody there\nmore words")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(LabError, match=r"--ray-address 1.2.3.4:5: nobody there$"):
        list(RayEngine(address="1.2.3.4:5").run(make_jobs(1), make_data(), ignore))


def test_a_users_own_choice_of_authentication_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    use_passing_token()
    assert "RAY_AUTH_TOKEN" not in os.environ


@needs_mirror
def test_a_ray_of_our_own_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    experiment = tmp_path / "mutag-gcn.yaml"
    experiment.write_text("dataset: {name: MUTAG}\nmodel: {name: gcn}\ntraining: {epochs: 2}\nfolds: [0, 1]\n")
    home = tmp_path / "home"
    home.mkdir()
    program = [sys.executable, "-c", "from mshgnn.cli import main; main()", "run", str(experiment)]
    options = ["--engine", "ray", "--jobs", "2", "--out", str(tmp_path / "run")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["MSHGNN_DATA"] = str(data_root(None))
    subprocess.run([*program, *options], env=environment | {"HOME": str(home)}, check=True, stdout=subprocess.DEVNULL)
    assert not list(home.rglob("*ray*"))
    run = load_run(tmp_path / "run")
    described = check_experiment(run.info.experiment, "run")
    jobs = [FoldJob(described, result.key) for result in run.results]
    local = list(LocalEngine(1).run(jobs, load_data(described), ignore))
    assert by_key(list(run.results)) == by_key(local)


LISTENING = """
import psutil
from lab_helpers import make_data, make_experiment
from mshgnn.lab.engines.ray import RayEngine
from mshgnn.lab.fold import FoldJob
from mshgnn.records.run import FoldKey

if __name__ == "__main__":
    jobs = [FoldJob(make_experiment(), FoldKey(0, fold)) for fold in range(2)]
    results = RayEngine(1).run(jobs, make_data(), lambda key, report: None)
    next(results)
    family = psutil.Process().children(recursive=True)
    sockets = [socket for one in family for socket in one.net_connections(kind="tcp") if socket.status == "LISTEN"]
    print(*sorted({socket.laddr.ip for socket in sockets}))
    results.close()
"""


def test_a_ray_of_our_own_listens_to_nobody_else(tmp_path: Path) -> None:
    program = tmp_path / "listening.py"
    program.write_text(LISTENING)
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, program],
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {"127.0.0.1"} <= set(done.stdout.split()) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
