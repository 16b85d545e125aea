"""APPNP against PyG's layer and against dense linear algebra."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import APPNP as PyGAPPNP
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.models import build
from mshgnn.models.appnp import PersonalisedPageRank
from mshgnn.models.propagation import Weighted, drop_features, normalised

NODES = 12


def some_edges() -> Tensor:
    """An undirected graph whose last node has no edge and whose first has a loop."""
    edges: Tensor = erdos_renyi_graph(NODES - 1, 0.4)
    return torch.cat([edges, torch.zeros(2, 1, dtype=torch.long)], dim=1)


def adjacency(edges: Tensor) -> Weighted:
    return normalised(edges, NODES, torch.float64)


def dense(edges: Tensor) -> Tensor:
    """The normalised adjacency by its definition."""
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[edges[1], edges[0]] = 1.0
    a.fill_diagonal_(1.0)
    root = a.sum(1).rsqrt()
    return root[:, None] * a * root


def start() -> Tensor:
    return torch.randn(NODES, 3, dtype=torch.float64)


@pytest.mark.parametrize(("hops", "alpha"), [(1, 0.1), (10, 0.1), (4, 0.0), (5, 1.0)])
def test_it_is_pygs_layer_and_the_closed_form(hops: int, alpha: float) -> None:
    edges, z = some_edges(), start()
    a = dense(edges)
    expected = (1 - alpha) ** hops * torch.linalg.matrix_power(a, hops) @ z
    for k in range(hops):
        expected = expected + alpha * (1 - alpha) ** k * torch.linalg.matrix_power(a, k) @ z
    spread = PersonalisedPageRank(hops, alpha)(z, adjacency(edges))
    torch.testing.assert_close(spread, expected)
    torch.testing.assert_close(spread, PyGAPPNP(hops, alpha)(z, edges))


def test_always_returning_leaves_the_predictions_as_they_are() -> None:
    z = start()
    torch.testing.assert_close(PersonalisedPageRank(7, 1.0)(z, adjacency(some_edges())), z)


def test_the_roots_of_the_degrees_and_a_lonely_node_stay() -> None:
    edges = some_edges()
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[edges[1], edges[0]] = 1.0
    stationary = a.fill_diagonal_(1.0).sum(1, keepdim=True).sqrt() * torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    spread = PersonalisedPageRank(10, 0.1)
    torch.testing.assert_close(spread(stationary, adjacency(edges)), stationary)
    z = start()
    torch.testing.assert_close(spread(z, adjacency(edges))[-1], z[-1])


def test_each_step_brings_it_nearer_to_its_limit() -> None:
    edges, z, alpha = some_edges(), start(), 0.2
    limit = alpha * torch.linalg.solve(torch.eye(NODES, dtype=torch.float64) - (1 - alpha) * dense(edges), z)
    far = torch.linalg.matrix_norm(z - limit, 2)
    for hops in (1, 5, 20):
        left = torch.linalg.matrix_norm(PersonalisedPageRank(hops, alpha)(z, adjacency(edges)) - limit, 2)
        assert left <= (1 - alpha) ** hops * far * (1 + 1e-9)


def test_edges_are_dropped_afresh_in_every_step() -> None:
    """A lonely node has its loop alone, scaled by 2 in each step that keeps it; cumulative drops scale by 2, 4, 8."""
    lonely = torch.empty(2, 0, dtype=torch.long)
    nodes, share, hops = 4000, 0.5, 3
    spread = PersonalisedPageRank(hops, 0.0, edge_dropout=share).train()
    z = spread(torch.ones(nodes, 1), normalised(lonely, nodes, torch.float32))
    left = z != 0
    # Each of the three loops is kept with probability one half, independently: an eighth of the nodes is left.
    assert float(left.float().mean()) == pytest.approx((1 - share) ** hops, abs=0.02)
    torch.testing.assert_close(z[left], torch.full_like(z[left], (1 - share) ** -hops))
    everything = spread.eval()(torch.ones(nodes, 1), normalised(lonely, nodes, torch.float32))
    torch.testing.assert_close(everything, torch.ones(nodes, 1))


def test_the_model_is_a_perceptron_whose_predictions_spread() -> None:
    model = build("appnp", 5, 3, task="node", options={"hidden_channels": 8}).double().eval()
    x, edges = torch.randn(NODES, 5, dtype=torch.float64), some_edges()
    first, second = model.parameters()
    predictions = (x @ first.T).relu() @ second.T
    logits = model(x, edges)
    torch.testing.assert_close(logits, PyGAPPNP(10, 0.1)(predictions, edges))
    # Without biases propagation and head commute, so the head reads the embedding.
    torch.testing.assert_close(model.head(model.embed(x, edges)), logits)


def test_sparse_features_are_dropped_like_dense_ones() -> None:
    x = (torch.rand(200, 50) > 0.5).float()
    sparse = x.to_sparse_csr()
    assert drop_features(sparse, 0.5, training=False) is sparse
    dropped = drop_features(sparse, 0.5, training=True).to_dense()
    assert {*dropped.flatten().tolist()} == {0.0, 2.0}
    assert not dropped[x == 0].any()
    assert float((dropped[x == 1] == 0).float().mean()) == pytest.approx(0.5, abs=0.03)
