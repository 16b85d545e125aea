from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from mshgnn.models import build
from mshgnn.models.exphormer import Exphormer, ExphormerLayer, SparseAttention
from mshgnn.structure import structure_of_batch
from mshgnn.testing import assert_batch_consistent

RING = torch.tensor([[*range(20)], [*range(1, 20), 0]])
RING = torch.cat([RING, RING.flip(0)], dim=1)


def attention_of_ones(channels: int, heads: int) -> SparseAttention:
    """Attention whose pairs all have the vector of ones."""
    attention = SparseAttention(channels, heads).double()
    with torch.no_grad():
        attention.pair.weight.copy_(torch.eye(channels))
    return attention


def all_pairs(nodes: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(nodes), torch.arange(nodes)).t()


def test_over_all_pairs_it_is_full_attention() -> None:
    attention = attention_of_ones(8, heads=2)
    h, sorts = torch.randn(7, 8, dtype=torch.float64), torch.ones(1, 8, dtype=torch.float64)
    found = attention(h, all_pairs(7), torch.zeros(49, dtype=torch.long), sorts)
    maps = (attention.query, attention.key, attention.value)
    q, k, v = (linear(h).view(7, 2, 4).transpose(0, 1) for linear in maps)
    full = scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)
    torch.testing.assert_close(found, full, atol=1e-5, rtol=1e-5)


def test_over_edges_it_is_local_and_a_pair_given_twice_counts_twice() -> None:
    attention = attention_of_ones(4, heads=1)
    h, sorts = torch.randn(3, 4, dtype=torch.float64), torch.ones(1, 4, dtype=torch.float64)
    pairs = torch.tensor([[0, 1, 1], [2, 2, 2]])
    found = attention(h, pairs, torch.zeros(3, dtype=torch.long), sorts)
    scores = (attention.key(h[:2]) @ attention.query(h[2]) / 2).exp() * torch.tensor([1, 2])
    torch.testing.assert_close(found[2], (scores / (scores.sum() + 1e-6)) @ attention.value(h[:2]))
    assert not found[:2].any()


def test_a_lone_virtual_node_is_all_that_is_heard() -> None:
    attention = attention_of_ones(4, heads=2)
    h, sorts = torch.randn(6, 4, dtype=torch.float64), torch.ones(1, 4, dtype=torch.float64)
    star = torch.stack([torch.full((5,), 5), torch.arange(5)])
    found = attention(h, star, torch.zeros(5, dtype=torch.long), sorts)
    torch.testing.assert_close(found[:5], attention.value(h[5:]).expand(5, -1), atol=1e-4, rtol=1e-4)


def make(**options: object) -> Exphormer:
    given = {"hidden_channels": 8, "num_layers": 2, **options}
    model = build("exphormer", 3, 2, task="node", options=given).double().eval()
    assert isinstance(model, Exphormer)
    return model


def test_pairs_are_edges_expander_and_virtual_nodes_each_of_its_sort() -> None:
    batch = torch.tensor([0, 0, 1])
    pairs, sort = make(virtual_nodes=2).pairs(torch.tensor([[0], [1]]), torch.tensor([[1, 0]]), (batch, 2))
    listed = list(zip(sort.tolist(), *pairs.tolist(), strict=True))
    assert listed[:2] == [(0, 0, 1), (1, 1, 0)]
    # Nodes 3, 4 are the first graph's, 5, 6 the second's.
    assert listed[2:8] == [(2, 0, 3), (2, 1, 3), (2, 2, 5), (3, 3, 0), (3, 3, 1), (3, 5, 2)]
    assert listed[8:] == [(4, 0, 4), (4, 1, 4), (4, 2, 6), (5, 4, 0), (5, 4, 1), (5, 6, 2)]


def test_a_layer_adds_attention_and_gcn_and_virtual_nodes_become_what_they_hear() -> None:
    layer = make(virtual_nodes=1).layers[0]
    assert isinstance(layer, ExphormerLayer)
    h, virtual, sorts = (torch.randn(rows, 8, dtype=torch.float64) for rows in (20, 1, 4))
    pairs, sort = make(virtual_nodes=1).pairs(RING, RING.flip(0).t()[:6], (torch.zeros(20, dtype=torch.long), 1))
    heard = layer.attention(torch.cat([h, virtual]), pairs, sort, sorts)
    u = layer.attention_norm(h + heard[:20]) + layer.conv_norm(h + layer.conv(h, RING))
    found, after = layer(h, virtual, RING, (pairs, sort, sorts))
    torch.testing.assert_close(found, layer.update_norm(u + layer.update(u)))
    torch.testing.assert_close(after, heard[20:])


@pytest.mark.parametrize("virtual_nodes", [0, 2])
def test_renamed_with_their_expander_nodes_get_the_same(virtual_nodes: int) -> None:
    model, x, batch = make(virtual_nodes=virtual_nodes), torch.randn(20, 3).double(), torch.zeros(20).long()
    structure = structure_of_batch(model.structure, x, RING, batch, 1)
    order = torch.randperm(20)
    name = order.argsort()
    renamed = {**structure, "expander": name[structure["expander"]]}
    found = model(x[order], name[RING], batch, structure=renamed)
    torch.testing.assert_close(found, model(x, RING, batch, structure=structure)[order])


def test_virtual_nodes_learn_and_stay_in_their_graph() -> None:
    from torch_geometric.data import Data

    model = make(virtual_nodes=1)
    graphs = [Data(x=torch.randn(n, 3).double(), edge_index=torch.tensor([[0, 1], [1, 0]])) for n in (4, 12, 2)]
    assert_batch_consistent(model, graphs)
    torch.autograd.backward(model(graphs[1].x, graphs[1].edge_index).square().sum())
    assert model.virtual is not None
    assert model.virtual.weight.grad is not None
    assert model.virtual.weight.grad.any()
