"""The best epoch so far of a fold in training, kept on disk: what a kill leaves can be loaded and used.

``model_0/so_far_12`` is a whole member with the weights of epoch 12, and ``model_0/fold.json`` names it. The folder is
written before it is named and removed after another is: a kill at any moment leaves a name of something whole.
"""

from __future__ import annotations

import copy
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.splits import Split
from mshgnn.predictor.member import Member

SHARE = 0.02
"""Of the time of a training, what the copies may take: reach asks for a pass over the training and the test part."""
NAME = re.compile(r"so_far_[0-9]+")


class SoFar:
    """Keeps the best epoch so far where it is new and due.

    Args:
        folder: of the fold.
        member: in training.
        dataset: as the member takes it.
        split: of the fold.
        seed: of what ``reach`` draws.
        name_it: makes ``fold.json`` name a folder and an epoch, counted from 1.
    """

    def __init__(
        self,
        folder: Path,
        member: Member,
        dataset: GraphDataset,
        split: Split,
        seed: int,
        name_it: Callable[[str, int], None],
    ) -> None:
        self.folder, self.member, self.dataset, self.split, self.seed = folder, member, dataset, split, seed
        self.name_it = name_it
        self._epoch: int | None = None
        self._next = 0.0

    def __call__(self, weights: Mapping[str, Tensor], epoch: int) -> None:
        """Keep the weights of an epoch, counted from 0."""
        started = time.monotonic()
        if epoch == self._epoch or started < self._next:
            return
        model = copy.deepcopy(self.member.model).cpu()  # the one in training goes on where it is
        model.load_state_dict(weights)
        name = f"so_far_{epoch + 1}"
        with torch.random.fork_rng(devices=[]):  # the training draws what it would have drawn
            member = replace(self.member, model=model).reaching(self.dataset, self.split, self.seed)
        member.save(self.folder / name)
        self.name_it(name, epoch + 1)
        clear(self.folder, but=name)
        ended = time.monotonic()
        self._epoch, self._next = epoch, ended + (ended - started) / SHARE


def clear(folder: Path, *, but: str = "") -> None:
    """Remove the copies of a fold, except one."""
    for path in folder.glob("so_far_*"):
        if NAME.fullmatch(path.name) and path.name != but:
            shutil.rmtree(path)
