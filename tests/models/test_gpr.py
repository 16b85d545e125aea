"""GPR-GNN against APPNP, and its weights of the hops one by one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import APPNP as PyGAPPNP
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.models import build
from mshgnn.models.gpr import GeneralisedPageRank, HopWeights
from mshgnn.models.propagation import normalised

NODES = 10


def case() -> tuple[Tensor, Tensor]:
    edges: Tensor = erdos_renyi_graph(NODES, 0.4)
    return torch.randn(NODES, 3, dtype=torch.float64), edges


def spread(weight: list[float], h: Tensor, edges: Tensor) -> Tensor:
    layer = GeneralisedPageRank(len(weight) - 1, 0.1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
    return layer(h, normalised(edges, len(h), torch.float64))


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_with_the_weights_of_appnp_it_is_appnp(alpha: float) -> None:
    h, edges = case()
    layer = GeneralisedPageRank(10, alpha).double()
    torch.testing.assert_close(
        layer(h, normalised(edges, NODES, torch.float64)), PyGAPPNP(10, alpha)(h, edges), atol=1e-6, rtol=1e-6
    )


def test_the_weight_of_one_hop_alone_takes_that_hop() -> None:
    h, edges = case()
    torch.testing.assert_close(spread([1.0, 0.0, 0.0], h, edges), h)
    twice = PyGAPPNP(2, 0.0)(h, edges)
    torch.testing.assert_close(spread([0.0, 0.0, 1.0], h, edges), twice)
    both = spread([0.5, 0.0, -2.0], h, edges)
    torch.testing.assert_close(both, 0.5 * h - 2.0 * twice)


def test_on_a_complete_graph_all_hops_but_the_first_are_the_mean() -> None:
    h, _ = case()
    here, there = torch.meshgrid(torch.arange(NODES), torch.arange(NODES), indexing="ij")
    edges = torch.stack([here.flatten(), there.flatten()])
    expected = 0.3 * h + (0.7 - 0.2) * h.mean(0)
    torch.testing.assert_close(spread([0.3, 0.7, -0.2], h, edges), expected, atol=1e-6, rtol=1e-6)


def test_the_gradient_of_a_weight_is_the_product_with_its_hop() -> None:
    h, edges = case()
    layer = GeneralisedPageRank(3, 0.2).double()
    upstream = torch.randn(NODES, 3, dtype=torch.float64)
    layer(h, normalised(edges, NODES, torch.float64)).backward(upstream)
    expected = [(upstream * PyGAPPNP(hop, 0.0)(h, edges)).sum() if hop else (upstream * h).sum() for hop in range(4)]
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, torch.stack(expected))


@pytest.mark.parametrize("start", ["ppr", "nppr", "random"])
def test_what_the_weights_start_with(start: HopWeights) -> None:
    layer = GeneralisedPageRank(4, 0.5, start)
    assert float(layer.weight.detach().abs().sum()) == pytest.approx(1.0)
    expected = {"ppr": [0.5, 0.25, 0.125, 0.0625, 0.0625], "nppr": [16 / 31, 8 / 31, 4 / 31, 2 / 31, 1 / 31]}
    if start in expected:
        assert layer.weight.tolist() == pytest.approx(expected[start])
    before = layer.weight.detach().clone()
    layer.reset_parameters()
    assert torch.equal(layer.weight, before) == (start != "random")


def test_the_model_has_appnps_parameters_biases_and_a_weight_per_hop() -> None:
    """Photo: 745 features, 8 classes, 64 hidden channels, 11 hops."""
    assert build("gpr", 745, 8, task="node").num_parameters == 48_264 + 11
    assert build("appnp", 745, 8, task="node").num_parameters == 48_264 - 64 - 8


def test_its_weights_have_the_precision_of_the_model() -> None:
    assert {weight.dtype for weight in build("gpr", 4, 2, task="node").parameters()} == {torch.float32}
