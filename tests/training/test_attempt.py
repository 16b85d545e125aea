from __future__ import annotations

import random
import threading
import time

import torch.distributed as dist

from mshgnn.training.attempt import Store, agree_on_attempt


def start(store: Store, size: int, seed: int) -> list[str]:
    """All workers of one start, each a little late."""
    names, draw = [""] * size, random.Random(seed)

    def work(rank: int, late: float) -> None:
        time.sleep(late)
        names[rank] = agree_on_attempt(store, rank, size)

    threads = [threading.Thread(target=work, args=(rank, draw.uniform(0, 0.1))) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return names


def test_every_start_has_one_new_name_whatever_earlier_ones_left() -> None:
    store: Store = dist.HashStore()  # type: ignore[attr-defined]
    seen: set[str] = set()
    for number in range(5):
        names = set(start(store, 4, number))
        assert len(names) == 1
        assert "" not in names
        assert not names & seen
        seen |= names


def test_a_start_that_was_broken_off_does_not_confuse_the_next() -> None:
    store: Store = dist.HashStore()  # type: ignore[attr-defined]
    store.set("attempt", "dead")
    store.set("dead/2", "word")
    store.set("dead/all", "word another")
    assert len(set(start(store, 3, 0)) - {"dead", ""}) == 1
