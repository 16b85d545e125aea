"""Shared by all tests: few threads, and small random graphs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_random_numbers() -> Iterator[None]:
    """Every test starts from the same seed and leaves the state of the others alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
