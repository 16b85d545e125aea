"""The run store: killed writers and damaged folds never lose, mix or change a finished fold."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path

from fuzz.files import check_refusal, one_folder
from fuzz.mutations import mutated
from fuzz.targets import Target
from mshgnn.lab.errors import LabError
from mshgnn.lab.experiment import check_experiment
from mshgnn.lab.store import RunStore
from mshgnn.records.run import NUMBERS_VERSION, Run
from support.runs import make_run

FOLDS = 12
LONGEST = 0.01  # seconds that the writer goes on after so many folds
SECONDS = 10


def _run() -> Run:
    run = make_run(folds=FOLDS, epochs=200)
    experiment = check_experiment({"name": "tiny", "dataset": {"name": "tiny"}, "model": {"name": "gcn"}}, "fuzz")
    return replace(run, info=replace(run.info, experiment=experiment.resolved(), numbers=NUMBERS_VERSION))


def write_all(store: RunStore, run: Run) -> None:
    with store.lock():
        store.begin(run.info)
        there = {result.key for result in store.results()}
        for result in run.results:
            if result.key not in there:
                store.save(result, run.info)


@contextmanager
def folder_and_run() -> Iterator[tuple[Path, Run]]:
    with one_folder() as folder:
        yield folder, _run()


def kill(draw: random.Random, setting: tuple[Path, Run]) -> None:
    """A writer dies at a random moment; what it left is whole, and the next one finishes."""
    folder, run = setting
    store = RunStore(folder / f"{draw.getrandbits(64):x}")
    child = os.fork()
    if child == 0:
        try:
            write_all(store, run)
        finally:
            os._exit(0)
    folds = draw.randint(0, FOLDS)
    deadline = time.monotonic() + SECONDS
    while len(list(store.folder.glob("folds/*.json.gz"))) < folds and time.monotonic() < deadline:
        time.sleep(0.0005)
    time.sleep(draw.uniform(0, LONGEST))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    noise = StringIO()
    with redirect_stderr(noise):
        if store.exists:
            found = store.results()
            assert found == [result for result in run.results if result.key in {fold.key for fold in found}]
        write_all(store, run)
        assert store.results() == list(run.results)
    assert not noise.getvalue(), noise.getvalue()
    assert not list(store.folder.rglob("*.writing"))


@contextmanager
def written_run() -> Iterator[tuple[RunStore, Run]]:
    with folder_and_run() as (folder, run):
        store = RunStore(folder / "run")
        write_all(store, run)
        yield store, run


def damage(draw: random.Random, setting: tuple[RunStore, Run]) -> None:
    """A fold's file is changed: it is the same fold or counts as missing, and is never another."""
    store, run = setting
    result = draw.choice(run.results)
    path = store.folder / "folds" / f"{result.key}.json.gz"
    whole = path.read_bytes()
    path.write_bytes(mutated(draw, whole))
    try:
        with redirect_stderr(StringIO()):
            found = store.load(result.key, run.info)
        assert found is None or found == result
        assert found is None or path.exists()
    finally:
        path.write_bytes(whole)
        for aside in path.parent.glob(f"{path.name}.*"):
            aside.unlink()


def damage_info(draw: random.Random, setting: tuple[RunStore, Run]) -> None:
    """``run.json`` is changed: it is the same run or an error of one line."""
    store, run = setting
    path = store.folder / "run.json"
    whole = path.read_bytes()
    path.write_bytes(mutated(draw, whole))
    try:
        assert store.info() == run.info
    except LabError as error:
        check_refusal(error, most_lines=1)
    finally:
        path.write_bytes(whole)


STORE = (
    Target(
        "kill -9 of a writer", "A fold is stored whole or not at all, and the run goes on.", 50, kill, folder_and_run
    ),
    Target("damaged folds", "A damaged fold is seen and counts as missing.", 10_000, damage, written_run),
    Target("damaged run.json", "A damaged run is refused in one line.", 10_000, damage_info, written_run),
)
