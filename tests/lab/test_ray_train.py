"""Workers of a Ray that train one model together; one is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mshgnn.lab.engines.ray import import_ray
from mshgnn.lab.runner import load_run
from support.own_data import rings

pytest.importorskip("ray.train")

PROGRAM = """
from mshgnn.training import checkpoint
checkpoint.SECONDS_BETWEEN = 0.0
from mshgnn.cli import main
main()
"""
MODEL = ["--model", "gin", "--set", "hidden_channels=8", "--set", "num_layers=1", "--no-controls"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rings(tmp_path / "graphs.jsonl")
    (tmp_path / "home").mkdir()
    (tmp_path / "mine.yaml").write_text(
        "dataset: {path: graphs.jsonl}\nmodel: {name: gin, hidden_channels: 8}\ntraining: {epochs: 3}\nfolds: [0, 1]\n"
    )
    return tmp_path


def mshgnn(place: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """The command; a home folder of its own shows what is left there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=place,
        env={**environment, "HOME": str(place / "home"), "OMP_NUM_THREADS": "1", "COLUMNS": "200", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out


def test_workers_of_ray_train_one_model_and_survive_a_kill(place: Path) -> None:
    train = ["train", "graphs.jsonl", *MODEL, "--epochs", "100", "--out"]
    process = mshgnn(place, *train, "two", "--engine", "ray", "--workers", "2")
    kept = place / "two" / "model_0" / "checkpoint.safetensors"
    deadline = time.monotonic() + 200
    while not kept.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    family = psutil.Process(process.pid).children(recursive=True)
    working = [child for child in family if "RayTrainWorker" in " ".join(child.cmdline())]
    assert len(working) == 2
    os.kill(working[1].pid, signal.SIGKILL)
    out = done(process)
    assert "kept in" in out
    done(mshgnn(place, *train, "one"))
    # Rounding grows from step to step; the first epochs are close.
    found, expected = (np.loadtxt(place / name / "history.csv", delimiter=",", skiprows=1) for name in ("two", "one"))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found[:10], expected[:10], rtol=1e-3)
    assert not list((place / "home").rglob("*ray*"))
    assert not list(place.glob(".*.ray"))


def test_folds_by_workers_of_ray_say_who_did_them(place: Path) -> None:
    done(mshgnn(place, "run", "mine.yaml", "--out", "two", "--engine", "ray", "--workers", "2"))
    done(mshgnn(place, "run", "mine.yaml", "--out", "one", "--jobs", "1"))
    found, expected = load_run(place / "two"), load_run(place / "one")
    for by_two, by_one in zip(found.results, expected.results, strict=True):
        assert by_two.environment["workers"] == "2"
        assert "/" in by_two.environment["node"]
        assert by_two.curves.train_loss == pytest.approx(by_one.curves.train_loss, rel=1e-4)
    assert not list((place / "two").rglob("*.checkpoint"))


def test_a_lost_head_is_one_line_and_the_checkpoint_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    import_ray()
    from ray.cluster_utils import Cluster

    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    address = made.address
    try:
        by_ray = ["--engine", "ray", "--workers", "2", "--ray-address", address]
        long = ["run", "mine.yaml", "--set", "training.epochs=100000", "--out", "run"]
        process = mshgnn(place, *long, *by_ray, RAY_AUTH_MODE="disabled")
        deadline = time.monotonic() + 200
        while not list(place.glob("run/folds/*.checkpoint")):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        made.head_node.kill_gcs_server()
        _, error = process.communicate(timeout=60)  # Ray alone takes longer, and says a page
    finally:
        made.shutdown()
    told = [line for line in error.splitlines() if line.startswith("mshgnn:")]
    assert process.returncode == 1, error
    assert len(told) == 1, error
    assert f"{address}, is lost; finished folds are kept in run" in told[0]
    assert list(place.glob("run/folds/*.checkpoint"))
    assert not list(place.glob(".*.ray"))


def test_a_mistake_is_one_line_and_not_tried_again(place: Path) -> None:
    process = mshgnn(place, "train", "graphs.jsonl", *MODEL, "--set", "training.batch_size=1", "--out", "two",
                     "--engine", "ray", "--workers", "2")  # fmt: skip
    _, error = process.communicate(timeout=300)
    assert process.returncode == 2, error
    told = [line for line in error.splitlines() if line.startswith("mshgnn:")]
    assert told == ["mshgnn: 2 workers cannot share batches of 1 graphs: raise training.batch_size"]
