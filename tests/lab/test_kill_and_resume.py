"""``kill -9`` in the middle of a real run, then the same command again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from mshgnn.lab.display import PlainDisplay
from mshgnn.lab.experiment import load_experiment
from mshgnn.lab.runner import load_run, run_experiment
from mshgnn.records.run import Run
from support.mirror import needs_mirror

YAML = """
dataset: {name: MUTAG}
model: {name: gcn, hidden_channels: 16}
training: {epochs: 12}
folds: [0, 1, 2, 3]
"""


# A shell that starts the tests in the background has Ctrl-C ignored; the program under test listens to it.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mshgnn.cli import main
main()
"""


def command(experiment: Path, folder: Path) -> list[str]:
    program = [sys.executable, "-c", PROGRAM, "run"]
    return [*program, str(experiment), "--jobs", "2", "--out", str(folder)]


def curves(run: Run) -> list[object]:
    return [result.curves for result in run.results]


@needs_mirror
def test_a_killed_run_resumes_with_the_same_numbers(tmp_path: Path) -> None:
    experiment = tmp_path / "mutag-gcn.yaml"
    experiment.write_text(YAML)
    killed = tmp_path / "killed"
    process = subprocess.Popen(command(experiment, killed), stdout=subprocess.DEVNULL)
    wait_until(lambda: len(list(killed.glob("folds/*.json.gz"))) >= 1)
    family = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(list(killed.glob("folds/*.json.gz")))
    assert finished < 4, "the kill came too late to mean anything"
    wait_until(lambda: not any(child.is_running() and child.status() != "zombie" for child in family))

    again = subprocess.run(command(experiment, killed), capture_output=True, text=True, check=True)
    assert f"{finished} there already" in again.stdout
    whole = run_experiment(load_experiment(experiment), tmp_path / "whole", PlainDisplay(Console(quiet=True)))
    assert curves(load_run(killed)) == curves(whole)
    assert len(whole.results) == 4


def wait_until(happened: object, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    assert callable(happened)
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_mirror
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    experiment = tmp_path / "mutag-gcn.yaml"
    experiment.write_text(YAML.replace("epochs: 12", "epochs: 100000"))
    folder = tmp_path / "run"
    process = subprocess.Popen(command(experiment, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (folder / "run.json").exists())
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == f"stopped; finished folds are kept in {folder}, run the same command to go on"


@needs_mirror
@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5, 4.0])
def test_ctrl_c_of_a_terminal_reaches_all_processes_and_prints_one_line(tmp_path: Path, seconds: float) -> None:
    """A terminal interrupts the whole group: workers that start, load or train must keep silent."""
    experiment = tmp_path / "mutag-gcn.yaml"
    experiment.write_text(YAML.replace("epochs: 12", "epochs: 100000"))
    folder = tmp_path / "run"
    process = subprocess.Popen(
        command(experiment, folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: (folder / "run.json").exists())
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == f"stopped; finished folds are kept in {folder}, run the same command to go on"
