from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.training.metrics import measure


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-5, 5)), min_size=2, max_size=30))
def test_roc_auc_is_the_share_of_pairs_in_order(rows: list[tuple[int, int]]) -> None:
    """The closed form: how often a positive ranks above a negative, a tie counting one half."""
    target, score = np.array(rows).T
    positive, negative = score[target == 1], score[target == 0]
    logits = torch.stack([torch.zeros(len(rows)), torch.tensor(score).float()], dim=1)
    found = measure("roc_auc", logits, torch.tensor(target))
    if len(positive) and len(negative):
        difference = np.sign(positive[:, None] - negative[None, :])
        assert found == pytest.approx(((difference + 1) / 2).mean())
    else:
        assert found == 0.5


def test_accuracy_is_the_share_of_right_classes() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    assert measure("accuracy", logits, torch.tensor([0, 1, 1, 0])) == 0.75
    assert measure("accuracy", logits[:0], torch.tensor([], dtype=torch.long)) == 0.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_diverged_model_ranks_nothing_and_is_never_right(value: float) -> None:
    logits = torch.full((3, 2), value)
    assert measure("roc_auc", logits, torch.tensor([0, 1, 1])) == 0.5
    assert measure("accuracy", logits, torch.tensor([0, 0, 1])) == 0.0
    logits[1] = torch.tensor([1.0, 0.0])
    assert measure("accuracy", logits, torch.tensor([0, 0, 0])) == pytest.approx(1 / 3)


def test_roc_auc_needs_two_classes() -> None:
    with pytest.raises(ValueError, match="two classes, got 3"):
        measure("roc_auc", torch.zeros(2, 3), torch.tensor([0, 1]))
