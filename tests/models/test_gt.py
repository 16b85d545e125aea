"""The attention of GT against PyG's TransformerConv, torch's attention, and its formula edge by edge."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch_geometric.nn import TransformerConv

from mshgnn.models import build
from mshgnn.models.gt import GTLayer, NeighbourAttention

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])


def attention(channels: int, heads: int, *, edges: bool = False) -> NeighbourAttention:
    return NeighbourAttention(channels, heads, edges).double()


def states(rows: int, channels: int) -> Tensor:
    return torch.randn(rows, channels, dtype=torch.float64)


def test_without_edge_features_it_is_pygs_transformer_message() -> None:
    ours, h = attention(8, 2), states(5, 8)
    theirs = TransformerConv(8, 4, heads=2, bias=False, root_weight=False).double()
    for name in ("query", "key", "value"):
        theirs.get_submodule(f"lin_{name}").load_state_dict(ours.get_submodule(name).state_dict())
    torch.testing.assert_close(ours(h, EDGES, None)[0], theirs(h, EDGES), atol=1e-5, rtol=1e-5)
    assert not ours(h, EDGES, None)[0][4].any(), "node 4 has no senders"


def test_on_a_complete_graph_it_is_full_attention() -> None:
    ours, h = attention(6, 2), states(5, 6)
    everyone = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    query, key, value = (linear(h).view(5, 2, 3).transpose(0, 1) for linear in (ours.query, ours.key, ours.value))
    expected = scaled_dot_product_attention(query, key, value).transpose(0, 1).flatten(1)
    torch.testing.assert_close(ours(h, everyone, None)[0], expected, atol=1e-5, rtol=1e-5)


def test_it_is_its_formula_edge_by_edge() -> None:
    ours, h, e = attention(4, 1, edges=True), states(5, 4), states(6, 4)
    assert ours.edge is not None
    weights, channelwise = torch.zeros(6, dtype=torch.float64), torch.zeros(6, 4, dtype=torch.float64)
    for position, (u, v) in enumerate(EDGES.T.tolist()):
        channelwise[position] = ours.query(h[v]) * ours.key(h[u]) * ours.edge(e[position]) / 2
        weights[position] = channelwise[position].sum().exp()
    heard, scores = ours(h, EDGES, e)
    torch.testing.assert_close(scores, channelwise)
    for v in range(5):
        to_v = EDGES[1] == v
        expected = weights[to_v] @ ours.value(h[EDGES[0, to_v]]) / (weights[to_v].sum() + 1e-6)
        torch.testing.assert_close(heard[v], expected)


def test_queries_of_zero_weigh_all_senders_alike() -> None:
    ours, h = attention(4, 1), states(5, 4)
    with torch.no_grad():
        ours.query.weight.zero_()
    mean = ours.value(h[EDGES[0, EDGES[1] == 0]]).mean(0)
    torch.testing.assert_close(ours(h, EDGES, None)[0][0], mean, atol=1e-5, rtol=1e-5)


def test_scores_are_cut_at_five() -> None:
    ours, h = attention(4, 1), 1000 * states(5, 4)
    sender = EDGES[0, EDGES[1] == 2]
    scores = (ours.key(h[sender]) @ ours.query(h[2])) / 2
    expected = scores.clamp(-5, 5).softmax(0) @ ours.value(h[sender])
    torch.testing.assert_close(ours(h, EDGES, None)[0][2], expected, atol=1e-2, rtol=1e-4)


def test_the_last_layer_leaves_the_edges_alone() -> None:
    layer, h, e = GTLayer(4, 2, 0.0, edges=True, last=True).double(), states(5, 4), states(6, 4)
    assert layer(h, EDGES, e)[1] is e
    assert layer.edge_update is None


@pytest.mark.parametrize(
    ("edge_dim", "parameters"), [(None, 0), (3, 10 * 80 * 80 + 9 * (80 * 81 + 80 * 160 * 2 + 240 + 320))]
)
def test_edges_cost_a_projection_in_each_layer_and_an_update_in_all_but_the_last(
    edge_dim: int | None, parameters: int
) -> None:
    plain = build("gt", 5, 2, task="graph").num_parameters
    encoder = 0 if edge_dim is None else 80 * (edge_dim + 1)
    assert (
        build("gt", 5, 2, task="graph", options={"edge_dim": edge_dim}).num_parameters == plain + parameters + encoder
    )


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="model gt: heads must divide hidden_channels, but 10 is no multiple of 8"):
        build("gt", 5, 2, task="graph", options={"hidden_channels": 10})
