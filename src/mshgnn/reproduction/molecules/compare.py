"""``mshgnn compare molecules``: run every cell that has no record yet, several side by side, one thread each."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np

from mshgnn.errors import UserError
from mshgnn.files import check_writable
from mshgnn.machine import commit
from mshgnn.reproduction.molecules.alone import CommandFailed, Commands, Cost
from mshgnn.reproduction.molecules.plan import SETS, Cell, find_file
from mshgnn.reproduction.molecules.prepare import Prepared
from mshgnn.reproduction.molecules.record import MoleculeRecord
from mshgnn.reproduction.molecules.systems import Job, check_chemprop
from mshgnn.training.metrics import KNOWN_METRICS


def compare(
    cells: Sequence[Cell],
    data: Path,
    results: Path,
    work: Path,
    say: Callable[[str], None],
    *,
    jobs: int = 1,
    epochs: int | None = None,
    chemprop: Path | None = None,
) -> list[str]:
    """Run the cells that have no record below ``results``; returns what failed, in one line each.

    ``work`` keeps the tables and splits, and of a cell that failed what its command wrote.
    """
    todo = [cell for cell in cells if not (results / cell.path).exists()]
    say(f"{len(cells)} runs, {len(cells) - len(todo)} of them are there already")
    if any(cell.system == "chemprop" for cell in todo):
        chemprop = check_chemprop(chemprop)
    files = {cell.set: find_file(data, cell.set).absolute() for cell in todo}
    commands, failed = Commands(), []
    for folder in (work, results):
        check_writable(folder / "any")
    prepared = {name: Prepared((work / name).absolute()) for name in files}
    waiting, ready = list(todo), set[str]()
    running: dict[Future[MoleculeRecord], Cell] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    cell = waiting.pop(0)
                    if cell.set not in ready:
                        _prepare(cell.set, files[cell.set], prepared[cell.set], todo, commands)
                        ready.add(cell.set)
                    folder = prepared[cell.set].folder / f"{cell.split}-{cell.seed}-{cell.system}"
                    job = Job(cell, files[cell.set], prepared[cell.set], folder, epochs, chemprop)
                    running[pool.submit(_run, job, commands, results)] = cell
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    cell = running.pop(future)
                    left = len(waiting) + len(running)
                    try:
                        record = future.result()
                        say(f"{_line(record)}; {left} left")
                    except (CommandFailed, UserError, OSError, ValueError) as error:
                        failed.append(f"{cell}: {error}")
                        say(f"{failed[-1]}; {left} left")
        except BaseException:
            waiting.clear()
            commands.stop()
            raise
    return failed


def _prepare(name: str, file: Path, prepared: Prepared, todo: Sequence[Cell], commands: Commands) -> None:
    """In a process of its own: the memory of a large set is given back before anything is timed."""
    pairs = sorted({(cell.split, cell.seed) for cell in todo if cell.set == name})
    missing = [f"{split}:{seed}" for split, seed in prepared.missing(pairs)]
    if not missing:
        return
    prepared.folder.mkdir(parents=True, exist_ok=True)
    module = "mshgnn.reproduction.molecules.prepare"
    command = [sys.executable, "-m", module, str(file), name, str(prepared.folder), *missing]
    commands.run(command, prepared.folder / "prepare.log")


def _run(job: Job, commands: Commands, results: Path) -> MoleculeRecord:
    """One cell from its command to its record."""
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True)
    cost = commands.run(job.command(), job.folder / "log.txt")
    record = measured(job, cost)
    record.save(results)
    shutil.rmtree(job.folder)
    return record


def measured(job: Job, cost: Cost) -> MoleculeRecord:
    """The record of a finished command: the metric of its test predictions by our code, whoever made them."""
    cell, outcome = job.cell, job.outcome()
    parts = job.prepared.parts(cell.split, cell.seed)
    truth = job.prepared.read()[1][parts["test"]]
    if outcome.found.shape != truth.shape:
        raise UserError(f"{cell}: predictions {outcome.found.shape} for a test part {truth.shape}")
    if not np.isfinite(outcome.found).all():
        raise UserError(f"{cell}: a prediction is no number")
    metric = SETS[cell.set].metric
    return MoleculeRecord(
        set=cell.set,
        split=cell.split,
        seed=cell.seed,
        system=cell.system,
        metric=metric,
        value=KNOWN_METRICS[metric].compute(outcome.found, truth),
        seconds=round(cost.seconds, 2),
        processor_seconds=round(cost.processor_seconds, 2),
        epochs=outcome.epochs,
        rows=(len(parts["train"]), len(parts["val"]), len(parts["test"])),
        split_digest=job.prepared.digest(cell.split, cell.seed),
        versions=outcome.versions,
        commit=commit(),
    )


def _line(record: MoleculeRecord) -> str:
    known = KNOWN_METRICS[record.metric]
    clock = time.strftime("%H:%M")
    return f"{clock} {record.cell}: {known.words} {known.as_text(record.value)} in {record.seconds:.0f} s"
