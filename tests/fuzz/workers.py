"""Two workers that train together, one of them killed at a random moment: the same command ends in the same bits."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fuzz.files import one_folder
from fuzz.targets import Target
from support.parallel_cases import Trained, go_on, same_bits
from support.processes import Kill, together

CASE, EPOCHS, WORKERS = "harmonic, dropout, unequal weights", 30, 2


class Whole(NamedTuple):
    """A training that nobody disturbed, and how long it took."""

    folder: Path
    trained: Trained
    seconds: float


@contextmanager
def undisturbed() -> Iterator[Whole]:
    with one_folder() as folder:
        together(WORKERS, go_on, CASE, folder / "warm", 1)  # starts the server of processes
        began = time.monotonic()
        trained, _ = together(WORKERS, go_on, CASE, folder / "whole", EPOCHS)[0]
        yield Whole(folder, trained, time.monotonic() - began)


def kill_a_worker(draw: random.Random, whole: Whole) -> None:
    """SIGKILL of either worker between its start and its end, then the same command again."""
    path = whole.folder / f"{draw.getrandbits(64):x}"
    kill = Kill(draw.randrange(WORKERS), draw.uniform(0, whole.seconds))
    left = together(WORKERS, go_on, CASE, path, EPOCHS, kill=kill)
    assert not any(isinstance(said, str) and "\n" in said for said in left), "the loss of a worker is one line"
    trained, _ = together(WORKERS, go_on, CASE, path, EPOCHS)[0]
    assert same_bits(trained, whole.trained), "a killed and resumed training has other numbers"


WORKERS_KILLED = (
    Target(
        "kill -9 of a worker",
        "A training of two workers that loses one goes on from its checkpoint and ends in the same bits.",
        20,
        kill_a_worker,
        undisturbed,
    ),
)
