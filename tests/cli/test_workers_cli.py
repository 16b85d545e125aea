"""``torchrun -m mshgnn ...`` with real processes: the same result, one voice, kills survived."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import load_file

from mshgnn.cli import main
from mshgnn.lab.runner import load_run
from support.own_data import rings

# The command, with a checkpoint after every epoch.
PROGRAM = """
from mshgnn.training import checkpoint
checkpoint.SECONDS_BETWEEN = 0.0
from mshgnn.cli import main
main()
"""
MODEL = ["--model", "gin", "--set", "hidden_channels=8", "--set", "num_layers=1", "--no-controls", "--seed", "3"]


EPOCHS = 120


def prepare(place: Path) -> Path:
    rings(place / "graphs.jsonl")
    (place / "program.py").write_text(PROGRAM)
    (place / "mine.yaml").write_text(
        "dataset: {path: graphs.jsonl}\nmodel: {name: gin, hidden_channels: 8}\ntraining: {epochs: 3}\nfolds: [0, 1]\n"
    )
    return place


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return prepare(tmp_path)


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model that two workers trained, and what they printed."""
    place = prepare(tmp_path_factory.mktemp("by_two"))
    process = torchrun(place, *train("two", EPOCHS))
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    return place / "two", out


def torchrun(place: Path, *arguments: str, restarts: int = 0) -> subprocess.Popen[str]:
    start = ["--standalone", "--nproc-per-node=2", f"--max-restarts={restarts}", "program.py"]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *start, *arguments],
        cwd=place,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def alone(place: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["mshgnn", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model_0" / "model.safetensors")


def train(out: str, epochs: int) -> list[str]:
    return ["train", "graphs.jsonl", "--out", out, "--epochs", str(epochs), *MODEL]


def history(folder: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.loadtxt(folder / "history.csv", delimiter=",", skiprows=1)


def test_train_by_two_workers_is_train_by_one(
    by_two: tuple[Path, str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = by_two
    assert out.count("task: graph classify") == 1
    assert out.count("kept in two") == 1
    assert alone(place, monkeypatch, *train("one", EPOCHS)) == 0
    # Rounding grows from step to step; the first epochs are close.
    np.testing.assert_allclose(history(folder)[:10], history(place / "one")[:10], rtol=1e-3)
    assert not list(folder.rglob("*checkpoint*"))


def test_run_by_two_workers_is_run_by_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = torchrun(place, "run", "mine.yaml", "--out", "two")
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert out.count("stored in two") == 1
    assert alone(place, monkeypatch, "run", "mine.yaml", "--out", "one", "--jobs", "1") == 0
    found, expected = load_run(place / "two"), load_run(place / "one")
    assert [result.environment["workers"] for result in found.results] == ["2", "2"]
    for by_two, by_one in zip(found.results, expected.results, strict=True):
        assert by_two.curves.train_loss == pytest.approx(by_one.curves.train_loss, rel=1e-4)
        assert by_two.curves.test_metric == pytest.approx(by_one.curves.test_metric)
    assert not list((place / "two").rglob("*.checkpoint"))


def test_a_mistake_is_told_once(place: Path) -> None:
    process = torchrun(place, "train", "graphs.jsonl", "--out", "two", "--model", "gim")
    _, error = process.communicate(timeout=200)
    assert process.returncode != 0
    told = [line for line in error.splitlines() if line.startswith("mshgnn:")]
    assert len(told) == 1
    assert told[0].startswith("mshgnn: unknown model 'gim'")


def kill_one(process: subprocess.Popen[str], draw: random.Random, checkpoint: Path) -> None:
    """SIGKILL a worker at a random moment of its training."""
    deadline = time.monotonic() + 200
    while not checkpoint.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(draw.uniform(0.0, 0.5))
    family = psutil.Process(process.pid).children(recursive=True)
    working = [child for child in family if "program.py" in child.cmdline()]
    os.kill(draw.choice(working).pid, signal.SIGKILL)


def test_a_killed_worker_is_started_again_and_end_in_the_same_bits(place: Path, by_two: tuple[Path, str]) -> None:
    process = torchrun(place, *train("killed", EPOCHS), restarts=1)
    kill_one(process, random.Random(0), place / "killed" / "model_0" / "checkpoint.safetensors")
    _, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    whole = weights(by_two[0])
    assert all(torch.equal(value, whole[name]) for name, value in weights(place / "killed").items())
    assert (place / "killed" / "history.csv").read_text() == (by_two[0] / "history.csv").read_text()


def test_a_full_disk_at_a_checkpoint_is_one_line_and_the_same_command_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mshgnn.training import checkpoint as module

    monkeypatch.setattr(module, "SECONDS_BETWEEN", 0.0)
    real, written = module.Checkpoint._replace, 0

    def fill_up(self: module.Checkpoint, content: bytes) -> None:
        nonlocal written
        written += 1
        if written == 3:  # the kernel's own word for it
            self.path.with_name(f"{self.path.name}.writing").symlink_to("/dev/full")
        real(self, content)

    monkeypatch.setattr(module.Checkpoint, "_replace", fill_up)
    assert alone(place, monkeypatch, *train("full", 6)) == 1
    path = Path("full/model_0/checkpoint.safetensors")
    reason = "cannot be written (No space left on device); put that right, then the same command goes on"
    assert capsys.readouterr().err == f"mshgnn: {path}: {reason}\n"
    # The checkpoint before is there, beside the best epoch so far, and nothing half-written.
    left = {file.name for file in (place / path.parent).iterdir() if not file.name.startswith("so_far_")}
    assert left == {path.name, "fold.json"}
    assert alone(place, monkeypatch, *train("full", 6)) == 0
    assert alone(place, monkeypatch, *train("whole", 6)) == 0
    for name, value in weights(place / "whole").items():
        assert torch.equal(weights(place / "full")[name], value)


# The command, whose disk is full at the third checkpoint while the file "full" is there.
ON_A_FULL_DISK = """
from pathlib import Path
from mshgnn.training.checkpoint import Checkpoint
real, written = Checkpoint._replace, 0
def fill_up(self, content):
    global written
    written += 1
    if written == 3 and Path("full").exists():
        self.path.with_name(f"{self.path.name}.writing").symlink_to("/dev/full")
    real(self, content)
Checkpoint._replace = fill_up
"""


def test_workers_on_a_full_disk_say_one_line_and_the_same_command_goes_on(
    place: Path, by_two: tuple[Path, str]
) -> None:
    (place / "program.py").write_text(ON_A_FULL_DISK + PROGRAM)
    (place / "full").touch()
    process = torchrun(place, *train("two", EPOCHS))
    _, error = process.communicate(timeout=200)
    assert process.returncode != 0
    path = Path("two/model_0/checkpoint.safetensors")
    told = [line for line in error.splitlines() if line.startswith("mshgnn:")]
    assert len(told) == 1, error
    assert told[0].startswith(f"mshgnn: {path}: cannot be written (No space left on device); ")
    assert (place / path).exists(), "the one before"
    (place / "full").unlink()
    process = torchrun(place, *train("two", EPOCHS))
    _, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    whole = weights(by_two[0])
    assert all(torch.equal(value, whole[name]) for name, value in weights(place / "two").items())


def test_workers_without_ray_are_told_of_torchrun(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert alone(place, monkeypatch, *train("none", 2), "--workers", "4") == 2
    assert "torchrun --standalone --nproc-per-node 4 -m mshgnn" in capsys.readouterr().err
