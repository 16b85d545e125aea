from __future__ import annotations

import pytest
import torch
from torch import nn

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


@pytest.mark.parametrize("num_layers", [1, 2])
def test_every_map_sees_what_dropout_leaves(num_layers: int) -> None:
    head, seen = make_head(40, 50, 3, num_layers, 0.5), []
    for linear in linears(head):
        linear.register_forward_pre_hook(lambda _, args: seen.append(float((args[0] == 0).float().mean())))
    head(torch.randn(64, 40))
    # Half of the embedding; of what ReLU halved already, another half.
    assert seen == pytest.approx([0.5, 0.75][:num_layers], abs=0.05)


def test_reset_draws_the_head_anew() -> None:
    model = MSHGNN(5, 3, hidden_channels=8, head_layers=2)
    before = [linear.weight.clone() for linear in linears(model.head)]
    model.reset_parameters()
    assert all(not torch.equal(old, new.weight) for old, new in zip(before, linears(model.head), strict=True))


def test_no_map_is_no_head() -> None:
    with pytest.raises(ValueError, match="head_layers"):
        MSHGNN(5, 3, head_layers=0)
