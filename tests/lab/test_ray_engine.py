"""A real Ray of several nodes on this machine; one is killed in the middle."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab_helpers import make_data, make_experiment

from mshgnn.data.sources.store import data_root
from mshgnn.lab.engines.local import LocalEngine
from mshgnn.lab.engines.ray import SMALLEST_STORE, RayEngine, import_ray, use_passing_token
from mshgnn.lab.errors import LabError
from mshgnn.lab.experiment import check_experiment
from mshgnn.lab.fold import FoldJob
from mshgnn.lab.plan import plan_run
from mshgnn.lab.runner import load_run
from mshgnn.lab.setup import load_data
from mshgnn.records.run import FoldKey, FoldResult
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport
from support.mirror import needs_mirror

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


def test_every_fold_names_its_node_and_the_plan_names_the_same_nodes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, jobs = make_data(), make_jobs(epochs=1)
    nodes = {cluster.add_node(num_cpus=1).node_id[:8] for _ in range(2)}
    cluster.wait_for_nodes()
    monkeypatch.setattr("mshgnn.lab.plan.load_data", lambda experiment: data)
    lines = list(
        plan_run(jobs[0].experiment, tmp_path / "run", jobs="auto", engine="ray", ray_address=cluster.address,
                 ray_workers=None)
    )  # fmt: skip
    assert {line.split(" ")[1].split("/")[1] for line in lines if line.startswith("node ")} == nodes
    assert not (tmp_path / "run").exists()
    done = {result.environment["node"].split("/")[1] for result in RayEngine().run(jobs, data, ignore)}
    assert done <= nodes


def test_the_data_is_put_once_and_every_fold_is_given_that_one(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = import_ray()
    put: list[Any] = []
    real = ray.put

    def counted(value: object) -> Any:
        put.append(real(value))
        return put[-1]

    monkeypatch.setattr(ray, "put", counted)
    cluster.add_node(num_cpus=2)
    jobs, given = make_jobs(epochs=1), []
    remote = ray.remote

    def watched(**options: Any) -> Any:
        def decorate(function: Any) -> Any:
            task = remote(**options)(function)

            def start(job: FoldJob, data: Any) -> Any:
                given.append(data)
                return task.remote(job, data)

            return SimpleNamespace(remote=start)

        return decorate

    monkeypatch.setattr(ray, "remote", watched)
    assert len(list(RayEngine().run(jobs, make_data(), ignore))) == len(jobs)
    assert len(put) == 1
    assert given == put * len(jobs), "a reference each; Ray fetches it once per node"


HEAD = """
import sys
from lab_helpers import make_data
from mshgnn.lab import runner
data = make_data()
runner.load_data = lambda experiment: data
from mshgnn.cli import main
main()
"""


def test_a_lost_head_is_one_line_and_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    import_ray()
    from ray.cluster_utils import Cluster

    (tmp_path / "tiny.yaml").write_text(
        "dataset: {name: tiny}\nmodel: {name: gcn, hidden_channels: 8, num_layers: 1}\n"
        "training: {epochs: 400}\nseeds: [0, 1, 2, 3]\n"
    )
    program = [sys.executable, "-c", HEAD, "run", "tiny.yaml", "--out", "run"]
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"}
    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    address = made.address
    try:
        process = subprocess.Popen(
            [*program, "--engine", "ray", "--ray-address", address, "--jobs", "1"],
            cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("run/folds/*.json.gz")):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        made.head_node.kill_gcs_server()
        _, error = process.communicate(timeout=120)
    finally:
        made.shutdown()
    told = [line for line in error.splitlines() if line.startswith("mshgnn:")]
    assert process.returncode == 1
    assert len(told) == 1, error
    assert f"{address}, is lost; finished folds are kept in run" in told[0]
    kept = len(list(tmp_path.glob("run/folds/*.json.gz")))
    assert 1 <= kept < 12
    again = subprocess.run(
        [*program, "--jobs", "1"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert f"{kept} there already" in again.stdout


def test_an_unknown_address_is_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = import_ray()
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(**_: object) -> None:
        raise ConnectionError("nobody there\nmore words")

    monkeypatch.setattr(ray, "init", refuse)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(LabError, match=rf"--ray-address {address}: nobody there$"):
            list(RayEngine(address=address).run(make_jobs(1), make_data(), ignore))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "[::1]:99999", "no such host:1", "a..b:1"])
def test_a_dead_address_is_told_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    ray = import_ray()
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray would try for minutes"))
    with pytest.raises(LabError, match=rf"^--ray-address {re.escape(address)}: no Ray answers there \("):
        list(RayEngine(address=address).run(make_jobs(1), make_data(), ignore))


@pytest.mark.parametrize(("data", "store"), [(10**6, SMALLEST_STORE), (10**9, 2 * 10**9)])
def test_a_ray_of_our_own_joins_no_cluster_and_has_a_store_for_the_data_alone(
    data: int, store: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = import_ray()
    monkeypatch.setattr("mshgnn.lab.engines.ray.data_bytes", lambda loaded: data)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr("mshgnn.lab.engines.ray.use_passing_token", lambda: None)
    asked: list[dict[str, object]] = []

    def note(**options: object) -> None:
        asked.append(options)
        raise ConnectionError("noted")

    monkeypatch.setattr(ray, "init", note)
    with pytest.raises(ConnectionError, match="noted"):
        list(RayEngine(2).run(make_jobs(1), make_data(), ignore))
    assert asked[0]["address"] == "local"
    assert asked[0]["object_store_memory"] == store


def test_without_ray_and_with_an_older_one_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = import_ray()
    monkeypatch.setattr(ray, "__version__", "2.9.3")
    with pytest.raises(LabError, match=r"needs Ray 2.60 or later, not 2.9.3: pip install 'mshgnn\[ray\]'"):
        import_ray()
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LabError, match=r"needs the extra, pip install 'mshgnn\[ray\]'"):
        import_ray()


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
from mshgnn.lab.plan import plan_run
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
