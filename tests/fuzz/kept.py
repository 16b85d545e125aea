"""What is kept between two sittings, prepared data and the checkpoint of a training: damage is seen."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from fuzz.files import INPUTS, Folder, check_refusal, one_folder, write_damaged
from fuzz.mutations import mutated
from fuzz.targets import Target
from mshgnn.data.sources.store import Kept, keep
from mshgnn.errors import UserError
from mshgnn.training.checkpoint import Checkpoint, Moving

CONTENT = Kept({"x": torch.arange(12.0).reshape(3, 4), "flag": torch.tensor([True])}, {"names": ["a", "b"]})
COUNTERS = {"epoch": 3, "history": [[0.5, 0.25]]}


@contextmanager
def prepared_data() -> Iterator[tuple[Path, Folder]]:
    """A kept folder; what is logged of every damage is left out."""
    with one_folder() as folder:
        keep(folder / "kept", lambda _: CONTENT)
        logging.disable(logging.WARNING)
        try:
            yield folder / "kept", {path.name: path.read_bytes() for path in sorted((folder / "kept").iterdir())}
        finally:
            logging.disable(logging.NOTSET)


def read_prepared(draw: random.Random, prepared: tuple[Path, Folder]) -> None:
    folder, files = prepared
    write_damaged(draw, files, folder)
    for _ in range(2):  # as it was found, and as it was made again
        found = keep(folder, lambda _: CONTENT)
        assert found.facts == CONTENT.facts
        assert found.tensors.keys() == CONTENT.tensors.keys()
        assert all(torch.equal(found.tensors[key], value) for key, value in CONTENT.tensors.items())


class Training(NamedTuple):
    """A training after one step, and its checkpoint as it was written."""

    moving: Moving
    best: dict[str, torch.Tensor]
    checkpoint: Checkpoint
    content: bytes


@contextmanager
def one_step() -> Iterator[Training]:
    with one_folder() as folder:
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimiser = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 3)).sum().backward()
        optimiser.step()
        moving = Moving({"model": model}, optimiser, ReduceLROnPlateau(optimiser), torch.Generator().manual_seed(1))
        best = {key: value.clone() for key, value in model.state_dict().items()}
        checkpoint = Checkpoint(folder / "checkpoint", "digest")
        checkpoint.write(moving, best, COUNTERS)
        yield Training(moving, best, checkpoint, checkpoint.path.read_bytes())


def read_checkpoint(draw: random.Random, training: Training) -> None:
    """The training as it was, none, or one line that leaves the weights alone."""
    moving, best, checkpoint, content = training
    checkpoint.path.write_bytes(mutated(draw, content))
    model = moving.modules["model"]
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    try:
        found = checkpoint.read(moving)
    except UserError as error:
        check_refusal(error, most_lines=1)
        found = None
    if found is None:
        assert not any(bool(weight.any()) for weight in model.parameters()), "a refused file changed the weights"
        return
    weights, header = found
    assert all(torch.equal(weights[key], value) for key, value in best.items())
    assert all(torch.equal(model.state_dict()[key], value) for key, value in best.items())
    assert {key: header[key] for key in COUNTERS} == COUNTERS


KEPT = (
    Target("prepared data", "Damaged prepared data is seen and made again.", INPUTS, read_prepared, prepared_data),
    Target("checkpoints", "A damaged checkpoint is refused and changes nothing.", INPUTS, read_checkpoint, one_step),
)
