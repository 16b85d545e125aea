from __future__ import annotations

import pytest
import torch
from torch import nn

from mshgnn.baselines import build
from mshgnn.nn import MSHGNN
from mshgnn.nn.head import make_head


def linears(head: nn.Module) -> list[nn.Linear]:
    return [module for module in head.modules() if isinstance(module, nn.Linear)]


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_the_head_is_linear_maps_with_relu_between(num_layers: int) -> None:
    head = make_head(5, 7, 3, num_layers, 0.5).eval()
    x = torch.randn(4, 5)
    maps = linears(head)
    assert [linear.in_features for linear in maps] == [5, 7, 7][:num_layers]
    expected = x
    for linear in maps[:-1]:
        expected = (expected @ linear.weight.t() + linear.bias).clamp(min=0)
    torch.testing.assert_close(head(x), expected @ maps[-1].weight.t() + maps[-1].bias)


def test_one_map_drops_nothing_and_two_drop_between() -> None:
    x = torch.randn(64, 5)
    torch.manual_seed(0)
    one, two = make_head(5, 7, 3, 1, 0.5), make_head(5, 7, 3, 2, 0.5)
    torch.testing.assert_close(one(x), one.eval()(x))
    assert not torch.allclose(two(x), two.eval()(x))


@pytest.mark.parametrize("name", ["msh-stable", "gin"])
def test_the_model_and_the_shared_shell_have_the_same_head(name: str) -> None:
    def shapes(head_layers: int) -> list[tuple[int, ...]]:
        model = build(name, 5, 3, task="graph", options={"hidden_channels": 8, "head_layers": head_layers})
        assert isinstance(model.head, nn.Module)
        return [tuple(linear.weight.shape) for linear in linears(model.head)]

    assert shapes(1) == [(3, 32)]
    assert shapes(2) == [(8, 32), (3, 8)]


def test_reset_draws_the_head_anew() -> None:
    model = MSHGNN(5, 3, hidden_channels=8, head_layers=2)
    before = [linear.weight.clone() for linear in linears(model.head)]
    model.reset_parameters()
    assert all(not torch.equal(old, new.weight) for old, new in zip(before, linears(model.head), strict=True))


def test_no_map_is_no_head() -> None:
    with pytest.raises(ValueError, match="head_layers"):
        MSHGNN(5, 3, head_layers=0)
