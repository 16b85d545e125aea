from __future__ import annotations

import torch

from mshgnn.training.seeding import fold_seed, one_thread


def test_fold_seeds_are_fixed_and_distinct() -> None:
    seeds = {fold_seed(seed, fold) for seed in range(20) for fold in range(20)}
    assert len(seeds) == 400
    assert fold_seed(0, 3) == 2613022947, "published numbers depend on this formula"


def test_one_thread_restores_the_old_count_and_seeds() -> None:
    before = torch.get_num_threads()
    draws = []
    for _ in range(2):
        with one_thread(7):
            assert torch.get_num_threads() == 1
            draws.append(torch.rand(4))
    assert torch.get_num_threads() == before
    assert torch.equal(*draws)
