from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from lab_helpers import make_data, make_experiment
from test_runner import Watcher

from mshgnn.lab import plan
from mshgnn.lab.plan import Place, plan_run
from mshgnn.lab.runner import run_experiment
from mshgnn.machine import environment


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_data()
    monkeypatch.setattr("mshgnn.lab.runner.load_data", lambda experiment: data)
    monkeypatch.setattr("mshgnn.lab.plan.load_data", lambda experiment: data)


def planned(folder: Path, **changes: object) -> list[str]:
    usual = {"jobs": "auto", "engine": "ray", "ray_address": None, "ray_workers": None}
    return list(plan_run(make_experiment(seeds=[0, 1]), folder, **(usual | changes)))  # type: ignore[arg-type]


@pytest.mark.usefixtures("_tiny")
def test_a_plan_names_nodes_folds_data_and_memory_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        Place("node 10.0.0.1/aaaa", 2, "2.0 GB for all tasks by Ray's count"),
        Place("node 10.0.0.2/bbbb", 1, "1.0 GB free now"),
    ]
    monkeypatch.setattr(plan, "_nodes", lambda address: nodes)
    lines = planned(tmp_path / "run", ray_address="head:6379")
    assert lines[0] == f"tiny-gcn: 0 folds finished, 6 missing, in {tmp_path / 'run'}"
    assert "put into each node's object store once; a worker takes about 700 MB" in lines[1]
    assert lines[2:] == [
        "node 10.0.0.1/aaaa (2 processors, 2.0 GB for all tasks by Ray's count): seed0-fold00, seed0-fold02",
        "node 10.0.0.2/bbbb (1 processor, 1.0 GB free now): seed0-fold01",
        "then, to whoever is free first: seed1-fold00, seed1-fold01, seed1-fold02",
    ]
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("_tiny")
def test_finished_folds_are_not_planned_again(tmp_path: Path) -> None:
    run_experiment(make_experiment(seeds=[0, 1]), tmp_path / "run", Watcher())
    (tmp_path / "run" / "folds" / "seed1-fold02.json.gz").unlink()
    first, _, only = planned(tmp_path / "run", engine="local", jobs="2")
    assert "5 folds finished, 1 missing" in first
    assert only.startswith("this machine (2 processors, ")
    assert only.endswith(" GB free now): seed1-fold02")


@pytest.mark.usefixtures("_tiny")
def test_a_node_of_a_cluster_says_what_its_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = {"Alive": True, "NodeManagerAddress": "10.0.0.1", "NodeID": "a" * 56}
    resources = {"CPU": 2.0, "memory": 3.0 * 2**30}
    ray = SimpleNamespace(nodes=lambda: [{**node, "Resources": resources}, {**node, "Resources": {}}])
    monkeypatch.setattr("mshgnn.lab.engines.ray.cluster", lambda address, processors: nullcontext(ray))
    line = planned(tmp_path / "run", ray_address="head:6379")[2]
    assert line.startswith("node 10.0.0.1/aaaaaaaa (2 processors, 3.0 GB for all tasks by Ray's count): ")


@pytest.mark.usefixtures("_tiny")
def test_a_run_of_another_version_would_be_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_experiment(make_experiment(seeds=[0, 1]), tmp_path / "run", Watcher())
    newer = {**environment(), "mshgnn": "999"}
    monkeypatch.setattr("mshgnn.lab.runner.environment", lambda: newer)
    told, first, *_ = planned(tmp_path / "run", engine="local", jobs="2")
    assert told.endswith("this is 999; it would be set aside")
    assert "0 folds finished, 6 missing" in first


@pytest.mark.usefixtures("_tiny")
def test_workers_that_find_no_processor_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_nodes", lambda address: [Place("node a", 1, "1 GB"), Place("node b", 2, "2 GB")])
    lines = planned(tmp_path / "run", ray_address="head:6379", ray_workers=4)
    assert lines[2:5] == [
        "node b (2 processors, 2 GB): 2 of 4 workers",
        "node a (1 processor, 1 GB): 1 of 4 workers",
        "1 workers find no processor: this run would be refused",
    ]


@pytest.mark.usefixtures("_tiny")
def test_the_folder_of_another_run_is_told(tmp_path: Path) -> None:
    run_experiment(make_experiment(training={"epochs": 2}), tmp_path / "run", Watcher())
    (line,) = planned(tmp_path / "run")
    assert line.startswith(f"{tmp_path / 'run'}: holds a run of another experiment: ")
    assert line.endswith("; this run would be refused")
