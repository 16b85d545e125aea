"""Seeds and threads: the same experiment gives the same bits, wherever its folds run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from torch_geometric import seed_everything

from mshgnn.machine import threads


def fold_seed(seed: int, fold: int) -> int:
    """The seed of one fold: a fixed, well-mixed function of the run's seed and the fold's number."""
    return int(np.random.SeedSequence((seed, fold)).generate_state(1, dtype=np.uint32)[0])


@contextmanager
def one_thread(seed: int) -> Iterator[None]:
    """Seed every generator and compute on one thread; the old thread count comes back afterwards.

    Sums depend on how many threads share them, so a fold always gets exactly one, alone or side by side.
    """
    with threads(1):
        seed_everything(seed)
        yield
