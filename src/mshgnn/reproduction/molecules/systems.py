"""The systems as commands: what each is called with, and how its predictions of the test part are read."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mshgnn.errors import UserError
from mshgnn.machine import environment
from mshgnn.reproduction.molecules.plan import SETS, Cell
from mshgnn.reproduction.molecules.prepare import Prepared

CHEMPROP_EPOCHS = 50
"""Chemprop's own default, said aloud so that a record can name it."""


class Outcome(NamedTuple):
    """What a finished command left: scores ``[n, T]`` of the test part in its order, and its own figures."""

    found: NDArray[np.float64]
    epochs: int | None
    versions: dict[str, str]


@dataclass(frozen=True)
class Job:
    """A cell made ready: its file, its parts, and an empty folder to work in."""

    cell: Cell
    source: Path
    prepared: Prepared
    folder: Path
    epochs: int | None = None
    """For all systems alike; None: each has its own default."""
    chemprop: Path | None = None

    @property
    def out(self) -> Path:
        """Where the command writes."""
        return self.folder / "out"

    def command(self) -> list[str]:
        """What is run, on one thread."""
        return COMMANDS[self.cell.system](self)

    def outcome(self) -> Outcome:
        """What the finished command found."""
        return OUTCOMES[self.cell.system](self)


def check_chemprop(path: Path | None) -> Path:
    """Refuse early what would fail after hours."""
    if path is None:
        raise UserError("the system chemprop needs its executable: --chemprop PATH, or leave it out of --systems")
    if not path.is_file():
        raise UserError(f"--chemprop {path}: there is no such file")
    return path.absolute()


def _train(job: Job) -> list[str]:
    """``mshgnn train`` with its defaults; only data, split and seed are given, and the model's name."""
    cell, of = job.cell, SETS[job.cell.set]
    command = [sys.executable, "-m", "mshgnn", "train", str(job.source), "--target", of.target, "--metric", of.metric]
    command += ["--split-file", str(job.prepared.split_file(cell.split, cell.seed, of_source=True))]
    command += ["--seed", str(cell.seed), "--on-error", "skip", "--no-controls", "--out", str(job.out)]
    command += ["--model", cell.system]
    return command if job.epochs is None else [*command, "--epochs", str(job.epochs)]


def _trained(job: Job) -> Outcome:
    metrics = json.loads((job.out / "metrics.json").read_text())
    found = _read_predictions(job.out / "test_predictions.csv", _is_score(job.cell))
    return Outcome(found, metrics["epochs"][0], metrics["environment"])


def _is_score(cell: Cell) -> Callable[[Sequence[str]], list[int]]:
    """Of a header of ours, the columns with the number itself, or with the probability of 1."""

    def chosen(header: Sequence[str]) -> list[int]:
        targets = [name.removesuffix("_true") for name in header if name.endswith("_true")]
        if SETS[cell.set].regression:
            return [header.index(name) for name in targets]
        return [header.index(f"{n}_prob_1" if f"{n}_prob_1" in header else f"{n}_prob") for n in targets]

    return chosen


def _chemprop(job: Job) -> list[str]:
    cell, table = job.cell, job.prepared.table
    with open(table, encoding="utf-8") as file:
        targets = file.readline().strip().split(",")[1:]
    command = [str(check_chemprop(job.chemprop)), "train", "--data-path", str(table), "--smiles-columns", "smiles"]
    command += ["--target-columns", *targets, "--output-dir", str(job.out)]
    command += ["--task-type", "regression" if SETS[cell.set].regression else "classification"]
    command += ["--splits-file", str(job.prepared.split_file(cell.split, cell.seed, of_source=False))]
    command += ["--pytorch-seed", str(cell.seed), "--epochs", str(job.epochs or CHEMPROP_EPOCHS)]
    if job.epochs is not None:  # its warm-up of two epochs must end before the last one
        command += ["--warmup-epochs", str(min(2, job.epochs - 1))]
    return [*command, "--ensemble-size", "1", "--accelerator", "cpu"]


def _chemprop_found(job: Job) -> Outcome:
    cell = job.cell
    path = job.out / "model_0" / "test_predictions.csv"
    found = _read_predictions(path, lambda header: list(range(1, len(header))))
    with open(path, newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    smiles, _ = job.prepared.read()
    wanted = [smiles[row] for row in job.prepared.parts(cell.split, cell.seed)["test"]]
    if [row[0] for row in rows] != wanted:
        raise UserError(f"{path}: its molecules are not those of the test part")
    said = subprocess.run([str(job.chemprop), "--version"], capture_output=True, text=True, check=False).stdout
    return Outcome(found, job.epochs or CHEMPROP_EPOCHS, {"chemprop": said.strip().removeprefix("chemprop ")})


def _forest(job: Job) -> list[str]:
    cell = job.cell
    module = "mshgnn.reproduction.molecules.forest"
    given = [cell.set, str(job.prepared.folder), cell.split, str(cell.seed), str(job.out)]
    return [sys.executable, "-m", module, *given]


def _forest_found(job: Job) -> Outcome:
    return Outcome(_read_predictions(job.out, lambda header: list(range(len(header)))), None, environment())


COMMANDS: dict[str, Callable[[Job], list[str]]] = {
    "msh-stable": _train,
    "gine": _train,
    "morgan-forest": _forest,
    "chemprop": _chemprop,
}
OUTCOMES: dict[str, Callable[[Job], Outcome]] = {
    "msh-stable": _trained,
    "gine": _trained,
    "morgan-forest": _forest_found,
    "chemprop": _chemprop_found,
}


def _read_predictions(path: Path, columns: Callable[[Sequence[str]], list[int]]) -> NDArray[np.float64]:
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    chosen = columns(header)
    return np.array([[float(row[column]) for column in chosen] for row in rows])
