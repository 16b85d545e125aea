from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from mshgnn.errors import UserError
from mshgnn.models import build, rectangle
from mshgnn.models.graphormer import BiasedAttention, Graphormer
from mshgnn.models.rectangle import join_heads, split_heads

PATH = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])


def make(task: str = "node", **options: object) -> Graphormer:
    given = {"hidden_channels": 8, "num_layers": 2, "heads": 2, "max_distance": 4, **options}
    model = build("graphormer", 3, 2, task=task, options=given).double().eval()  # type: ignore[arg-type]
    assert isinstance(model, Graphormer)
    return model


def features(nodes: int) -> Tensor:
    return torch.randn(nodes, 3, dtype=torch.float64)


def test_without_biases_it_is_plain_attention() -> None:
    attention = BiasedAttention(8, heads=2, dropout=0.0).double()
    h, bucket = torch.randn(3, 5, 8, dtype=torch.float64), torch.randint(6, (3, 5, 5))
    found = attention(h, bucket, torch.ones(3, 5, dtype=torch.bool), torch.zeros(6, 2, dtype=torch.float64))
    maps = (attention.query, attention.key, attention.value)
    q, k, v = (split_heads(linear(h), 2) for linear in maps)
    torch.testing.assert_close(found, attention.out(join_heads(scaled_dot_product_attention(q, k, v))))


@pytest.mark.parametrize("task", ["graph", "node"])
def test_blocks_of_rows_give_the_same_outputs_and_gradients(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = make(task), features(10)
    edge_index, batch = torch.cat([PATH, PATH + 5], dim=1), torch.arange(10) // 5
    results = []
    for elements in (rectangle.BLOCK_ELEMENTS, 50):
        monkeypatch.setattr(rectangle, "BLOCK_ELEMENTS", elements)
        model.zero_grad()
        out = model(x, edge_index, batch)
        torch.autograd.backward(out.square().sum())
        results.append(
            [out.detach(), *(weight.grad.clone() for weight in model.parameters() if weight.grad is not None)]
        )
    torch.testing.assert_close(results[1], results[0])


def test_of_nodes_out_of_reach_nothing_is_heard_when_their_bias_says_so() -> None:
    model, x = make(), features(10)
    with torch.no_grad():
        model.bias.weight[5] = -torch.inf
    both = model(x, torch.cat([PATH, PATH + 5], dim=1))
    torch.testing.assert_close(both, torch.cat([model(x[:5], PATH), model(x[5:], PATH)]))


def test_with_only_neighbours_in_reach_it_is_neighbour_attention() -> None:
    model, x = make(num_layers=1), features(5)
    with torch.no_grad():
        model.bias.weight[2:] = -torch.inf
    changed = x.clone()
    changed[4] += 1
    moved = (model(changed, PATH) - model(x, PATH)).abs().sum(dim=1) > 1e-12
    assert moved.tolist() == [False, False, False, True, True]


def test_distance_and_degree_are_seen() -> None:
    """Two triangles and a hexagon, alike for 1-WL, differ in their distances; a star's nodes differ in degree."""
    hexagon = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    triangles = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]])
    model, x = make("graph"), torch.ones(6, 3, dtype=torch.float64)
    hexagon, triangles = (torch.cat([edges, edges.flip(0)], dim=1) for edges in (hexagon, triangles))
    assert not torch.allclose(model(x, hexagon), model(x, triangles))
    star = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    with torch.no_grad():
        nodes = make(max_degree=2)
        nodes.bias.weight.zero_()
        out = nodes(torch.ones(4, 3, dtype=torch.float64), star)
    assert not torch.allclose(out[0], out[1])
    torch.testing.assert_close(out[1], out[3])


def test_a_graph_too_large_names_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e8")
    with pytest.raises(UserError, match=r"distances-20 of 20,000 nodes needs 0\.6 GB of memory"):
        build("graphormer", 1, 2, task="node")(torch.ones(20_000, 1), torch.empty(2, 0, dtype=torch.long))
