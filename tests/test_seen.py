"""A change of a tensor is seen, and nothing else is taken for one."""

from __future__ import annotations

import pytest
import torch

from mshgnn import seen
from mshgnn.seen import Seen
from support.memory import put_where_it_lay


def test_a_tensor_left_alone_fits() -> None:
    tensor = torch.arange(6)
    state = Seen(tensor, tensor)
    assert state.fits(tensor, tensor)
    tensor.sum()
    assert state.fits(tensor, tensor)


def test_every_change_that_can_be_told_is_seen() -> None:
    tensor, other = torch.arange(6), torch.arange(6)
    state = Seen(tensor, other)
    other[0] = 1
    assert not state.fits(tensor, other)
    state = Seen(tensor)
    tensor.data = tensor[:3]  # the same memory, fewer numbers
    assert not state.fits(tensor)
    state = Seen(tensor)
    tensor.data = torch.arange(3)
    assert not state.fits(tensor)


def test_memory_is_held_so_that_nothing_new_lies_where_the_tensor_lay() -> None:
    for _ in range(30):
        tensor = torch.arange(400)
        state = Seen(tensor)
        tensor.data = put_where_it_lay(tensor, tensor.flip(0))
        assert not state.fits(tensor)


def test_contents_are_compared_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.arange(6)
    state = Seen(tensor)
    tensor.numpy()[0] = 5
    assert state.fits(tensor)  # torch counts no change
    monkeypatch.setattr(seen, "COMPARES", True)
    state = Seen(tensor)
    assert state.fits(tensor)
    tensor.numpy()[0] = 6
    assert not state.fits(tensor)
