from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from mshgnn.nn import MSHGNN, FrequencyAwarePooling, MSHConv
from mshgnn.nn.graph_model import Layer
from mshgnn.nn.readout import READOUTS, ReadoutName, make_readout, pool_nodes

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])
BATCH = torch.tensor([0, 0, 0, 0, 2])  # graph 1 has no nodes, graph 2 no edges


def model_with(**options: Any) -> MSHGNN:
    return MSHGNN(3, 2, hidden_channels=6, num_projections=2, readout="frequency", **options).double().eval()


def features() -> Tensor:
    return torch.randn(5, 3, dtype=torch.float64)


def messages_by_layer(model: MSHGNN, x: Tensor) -> list[Tensor]:
    """``Psi_vu`` of every layer, from the states that enter it."""
    seen: list[Tensor] = []

    def look(layer: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(layer, Layer)
        assert isinstance(layer.message, MSHConv)
        seen.append(layer.message.edge_messages(inputs[0], inputs[1]))

    handles = [layer.register_forward_pre_hook(look) for layer in model.layers]
    model(x, EDGES)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_readout_equals_the_equations(gate: Any, reduce: Any) -> None:
    model, x = model_with(gate=gate, readout_reduce=reduce, embed_norm=False), features()
    pooling = model.readout
    assert isinstance(pooling, FrequencyAwarePooling)
    assert pooling.fusion.weight is not None
    with torch.no_grad():
        pooling.fusion.weight.copy_(torch.tensor([0.5, -1.0, 2.0]))
    expected = torch.zeros(3, 16, dtype=torch.float64)
    for layer, messages in enumerate(messages_by_layer(model, x)):
        score, value = pooling.scores[layer], pooling.values[layer]
        assert isinstance(score, torch.nn.Linear)
        assert isinstance(value, torch.nn.Linear)
        logits = messages @ score.weight[0]
        for edge, message in enumerate(messages):
            receiver = EDGES[1, edge]
            rivals = logits[EDGES[1] == receiver]
            alpha = logits[edge].sigmoid() if gate == "sigmoid" else logits[edge].exp() / rivals.exp().sum()
            share = 4 if reduce == "mean" else 1  # all edges lie in graph 0, of four nodes
            expected[0] += (
                pooling.fusion.weight[layer].detach() * alpha.detach() * (value.weight @ message).detach() / share
            )
    actual = model.embed(x, EDGES, BATCH)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
def test_edge_attention_is_per_edge_and_in_order(gate: Any) -> None:
    model, x = model_with(gate=gate), features()
    alphas = model.edge_attention(x, EDGES)
    assert [tuple(alpha.shape) for alpha in alphas] == [(6,)] * 3
    for alpha, messages, score in zip(alphas, messages_by_layer(model, x), model.readout.scores, strict=True):  # type: ignore[union-attr, arg-type]
        logits = messages @ score.weight[0]
        if gate == "sigmoid":
            torch.testing.assert_close(alpha, logits.sigmoid())
        else:
            totals = torch.zeros(5, dtype=torch.float64).index_add(0, EDGES[1], alpha)
            torch.testing.assert_close(totals, torch.tensor([1, 1, 1, 0, 0], dtype=torch.float64))
            torch.testing.assert_close(alpha[2] / alpha[3], (logits[2] - logits[3]).exp())


def test_edge_attention_for_other_forms_of_edges() -> None:
    model, x = model_with(), features()
    adjacency = torch.zeros(5, 5, dtype=torch.float64)
    adjacency[EDGES[1], EDGES[0]] = 1
    by_row = adjacency.nonzero().flip(1).t()
    expected = model.edge_attention(x, by_row)
    for actual, wanted in zip(model.edge_attention(x, adjacency.to_sparse_csr()), expected, strict=True):
        torch.testing.assert_close(actual, wanted)
    # EDGES has one loop: the others are added, and all five come last.
    looped = model_with(self_loops=True)
    assert [alpha.numel() for alpha in looped.edge_attention(x, EDGES)] == [10] * 3


def test_edge_attention_needs_the_frequency_aware_readout() -> None:
    with pytest.raises(ValueError, match="edge_attention needs readout='frequency'"):
        MSHGNN(3, 2).edge_attention(torch.randn(5, 3), EDGES)


def test_weights_of_the_layers_start_balanced() -> None:
    pooling = FrequencyAwarePooling(6, 4, num_layers=5)
    assert pooling.fusion.weight is not None
    assert pooling.fusion.weight.tolist() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("readout", ["frequency", "mean", "sum", "max", "attention"])
def test_graphs_without_edges_or_nodes_have_a_defined_result(readout: Any, gate: Any) -> None:
    model = MSHGNN(3, 2, hidden_channels=6, readout=readout, gate=gate, embed_norm=False).double()
    x, none = features(), EDGES[:, :0]
    embedding = model.embed(x, EDGES, BATCH)
    assert embedding.shape[0] == 3
    assert embedding.isfinite().all()
    assert not embedding[1].any()
    if readout == "frequency":
        assert not model.embed(x, none).any()
    model(x, EDGES, BATCH).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert model(x, none).isfinite().all()
    assert model(x[:0], none).shape == (1, 2)
    assert model(x[:0], none, BATCH[:0]).shape == (0, 2)
    assert model(x[:0], none, BATCH[:0], batch_size=4).isfinite().all()


@pytest.mark.parametrize("readout", ["mean", "sum", "max"])
def test_plain_readouts_reduce_the_states(readout: Any) -> None:
    node = MSHGNN(3, 2, task="node", hidden_channels=6, embed_norm=False).double().eval()
    graph = MSHGNN(3, 2, hidden_channels=6, embed_norm=False, readout=readout, fusion="last").double().eval()
    graph.load_state_dict({**graph.state_dict(), **{k: v for k, v in node.state_dict().items() if "head" not in k}})
    x = features()
    states = node.embed(x, EDGES)[:4]
    expected = {"mean": states.mean(0), "sum": states.sum(0), "max": states.max(0).values}[readout]
    torch.testing.assert_close(graph.embed(x, EDGES, BATCH)[0], expected)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"gate": "relu"}, "gate must be one of sigmoid, softmax, got 'relu'"),
        ({"reduce": "max"}, "reduce must be one of mean, sum, got 'max'"),
        ({"in_channels": 0}, "in_channels must be an integer from 1 to 100,000 or a list of integers, got 0"),
        ({"out_channels": -1}, "out_channels must be an integer from 1 to 100,000, got -1"),
        ({"num_layers": 0}, "num_layers must be an integer from 1 to 1,000, got 0"),
    ],
)
def test_bad_options_are_refused(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        FrequencyAwarePooling(**{"in_channels": 4, "out_channels": 3, "num_layers": 2, **arguments})


def test_a_missing_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="layers must hold one tensor per layer, 2, got 1"):
        FrequencyAwarePooling(4, 3, 2)([torch.randn(5, 4)], BATCH, 3)


@pytest.mark.parametrize("name", get_args(ReadoutName))
@pytest.mark.parametrize("fusion", ["weighted", "concat", "last"])
def test_a_readout_says_what_it_reads_and_how_wide_it_is(name: Any, fusion: Any) -> None:
    readout = make_readout(
        name,
        6,
        2,
        message_channels=[6, 6],
        readout_channels=5,
        readout_reduce="sum",
        gate="sigmoid",
        fusion=fusion,
    )
    assert isinstance(readout, READOUTS[name])
    layers = [torch.randn(5, 6) for _ in range(2 if readout.reads == "messages" else 3)]
    pooled = readout(iter(layers), BATCH, 3)
    assert pooled.shape == (3, readout.out_channels)
    assert (readout.gate_weight(0) is None) == (readout.reads == "states")


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
def test_pooling_matches_a_loop_and_is_zero_without_nodes(reduce: str) -> None:
    h = torch.randn(6, 4)
    batch = torch.tensor([3, 0, 0, 3, 1, 0])  # graphs 2 and 4 have no nodes, and the order is free
    pooled = pool_nodes(h, batch, 5, reduce)
    loop = {"sum": lambda rows: rows.sum(0), "mean": lambda rows: rows.mean(0), "max": lambda rows: rows.amax(0)}
    for graph in range(5):
        rows = h[batch == graph]
        torch.testing.assert_close(pooled[graph], loop[reduce](rows) if len(rows) else torch.zeros(4))
