from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.models import build, measured_options
from mshgnn.models.gmt import GMT, AttentionBlock
from mshgnn.testing import assert_batch_consistent


def small(attention: str = "seeds") -> GMT:
    model = build("gmt", 3, 2, task="graph", options={"hidden_channels": 8, "num_seeds": 3, "attention": attention})
    assert isinstance(model, GMT)
    return model.eval()


def test_over_seeds_the_last_pool_is_a_plain_sum() -> None:
    """One query: the softmax over queries is 1 whatever the keys, so attention adds up the values."""
    block = AttentionBlock(4, 4, heads=2, over="seeds", norm=False)
    seed, keys, values = torch.randn(2, 1, 4), torch.randn(2, 5, 4, requires_grad=True), torch.randn(2, 5, 4)
    attended = block(seed, keys, values)
    torch.testing.assert_close(attended, block(seed, None, values))
    o = block.query(seed) + values.sum(1, keepdim=True)
    torch.testing.assert_close(attended, o + block.output(o).relu())
    (gradient,) = torch.autograd.grad(attended.sum(), keys)
    assert not gradient.any()


def test_over_nodes_equal_nodes_share_attention() -> None:
    block = AttentionBlock(4, 4, heads=2, over="nodes", norm=False)
    keys, mask = torch.randn(1, 1, 4).expand(1, 5, 4), torch.tensor([[True, True, True, True, False]])
    weights = block.weights(torch.randn(1, 3, 4), keys, mask)
    torch.testing.assert_close(weights, torch.tensor([0.25, 0.25, 0.25, 0.25, 0.0]).expand(1, 2, 3, 5))


def test_attention_is_its_formula_and_scales_by_the_full_width() -> None:
    block = AttentionBlock(4, 6, heads=3, over="nodes", norm=False)
    queries, keys, values = torch.randn(2, 4), torch.randn(5, 6), torch.randn(5, 6)
    q = block.query(queries)
    heads = [(q[:, i : i + 2] @ keys[:, i : i + 2].T / 6**0.5).softmax(dim=1) @ values[:, i : i + 2] for i in (0, 2, 4)]
    o = q + torch.cat(heads, dim=1)
    expected = o + block.output(o).relu()
    torch.testing.assert_close(block(queries[None], keys[None], values[None])[0], expected)


@pytest.mark.parametrize("attention", ["seeds", "nodes"])
def test_a_graph_alone_is_the_graph_beside_a_larger_one(attention: str) -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 19, 1)]
    assert_batch_consistent(small(attention), graphs)


def test_a_graph_without_nodes_leaves_only_the_seeds() -> None:
    model = small("nodes")
    graph = Data(x=torch.randn(4, 3), edge_index=erdos_renyi_graph(4, 0.6))
    batch = Batch.from_data_list([graph])
    both = model(batch.x, batch.edge_index, batch.batch, batch_size=2)
    torch.testing.assert_close(both[:1], model(batch.x, batch.edge_index, batch.batch))
    assert torch.isfinite(both).all()


def test_the_seeds_are_a_quarter_of_the_mean_size_of_the_training_graphs() -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (10, 18, 25)]
    assert measured_options("gmt", graphs) == {"num_seeds": 5}
