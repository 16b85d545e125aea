"""Widths of -1: the layer takes them from its first input, by whatever way that comes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.nn import MSHConv

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[3, 1, 2, 3, 0], [0, 2, 0, 0, 3]])


def test_one_width_and_pairs_are_taken_from_the_input() -> None:
    x, wide = torch.randn(6, 3), torch.randn(6, 5)
    one, both, half = MSHConv(-1, 8), MSHConv((-1, -1), 8), MSHConv((-1, 5), 8)
    assert one(x, EDGES).shape == both((x, wide), EDGES).shape == half((x, wide), EDGES).shape == (6, 8)
    assert [conv.in_channels for conv in (one, both, half)] == [3, (3, 5), (3, 5)]
    assert repr(one).startswith("MSHConv(3, 8")
    assert one(x, EDGES).requires_grad
    with pytest.raises(UserError, match="3 columns"):
        one(wide, EDGES)


@pytest.mark.parametrize(
    "call",
    [
        lambda conv, x: conv(x=x, edge_index=EDGES),
        lambda conv, x: conv.forward_gated(x, EDGES, None, torch.ones(8)),
        lambda conv, x: conv.edge_phases(x, EDGES),
        lambda conv, x: conv.edge_messages(x, EDGES),
    ],
)
def test_the_first_call_may_be_any(call: Callable[[MSHConv, Tensor], object]) -> None:
    conv = MSHConv(-1, 8)
    call(conv, torch.randn(6, 3))
    assert conv.in_channels == 3


def test_it_computes_what_a_layer_made_with_the_width_computes() -> None:
    x = torch.randn(6, 3)
    expected = MSHConv(3, 8)
    waiting = MSHConv(-1, 8)
    for conv in (waiting, copy.deepcopy(waiting), pickle.loads(pickle.dumps(waiting))):
        conv.eval()(x, EDGES)
        conv.load_state_dict(expected.state_dict())
        assert torch.equal(conv(x, EDGES), expected.eval()(x, EDGES))


def test_it_stays_as_it_was_cast_and_put_into_a_mode() -> None:
    conv = MSHConv(-1, 8, frequencies="learned").double().eval()
    assert conv(torch.randn(6, 3).double(), EDGES).dtype == torch.float64
    assert {p.dtype for p in conv.parameters()} == {torch.float64}
    assert not any(module.training for module in conv.modules())
    assert conv.sender_norm is not None
    assert conv.sender_norm.mean.tolist() == [0, 0], "evaluation follows no statistics"


def test_parameters_are_drawn_anew_before_and_after() -> None:
    conv = MSHConv(-1, 8)
    conv.reset_parameters()
    conv(torch.randn(6, 3), EDGES)
    before = conv.output.weight.detach().clone()
    conv.reset_parameters()
    assert not torch.equal(conv.output.weight, before)


@pytest.mark.parametrize("x", [torch.randn(6), torch.randn(6, 0), "features", (torch.randn(6, 3), [1.0])])
def test_what_has_no_width_is_refused(x: object) -> None:
    conv = MSHConv((-1, -1) if isinstance(x, tuple) else -1, 8)
    with pytest.raises(UserError, match=r"^x must be a tensor"):
        conv(x, EDGES)
