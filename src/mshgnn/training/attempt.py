"""Telling one start of the workers from the one before.

``torchrun`` starts workers again around the same store, where the addresses of the dead still stand: a worker that
reads one too early connects to nobody. So each start agrees on a new name, and keeps its own words under it.
"""

from __future__ import annotations

import secrets
import time
from typing import Protocol

SECONDS_BETWEEN_LOOKS = 0.05


class Store(Protocol):
    """What of a store of torch is used."""

    def set(self, key: str, value: str) -> None:
        """Leave a word."""

    def get(self, key: str) -> bytes:
        """The word, as soon as it is there."""

    def check(self, keys: list[str]) -> bool:
        """Whether all are there."""


def agree_on_attempt(store: Store, rank: int, size: int) -> str:
    """A name that the workers of this start share, and no earlier start had.

    The first worker names the start, each other one answers with a word of its own, and the first repeats all words:
    whoever finds its own among them has heard the living first worker, not what an earlier one left behind.
    """
    if rank == 0:
        name = secrets.token_hex(8)
        store.set("attempt", name)
        words = [store.get(f"{name}/{other}").decode() for other in range(1, size)]
        store.set(f"{name}/all", " ".join(words))
        return name
    own = secrets.token_hex(8)
    while True:
        name = store.get("attempt").decode()
        store.set(f"{name}/{rank}", own)
        if store.check([f"{name}/all"]) and own in store.get(f"{name}/all").decode().split():
            return name
        time.sleep(SECONDS_BETWEEN_LOOKS)
