"""GraphGPS: PyG's layer with attention that stays small."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GPSConv

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.models.gps import GPS

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])
BATCH = torch.tensor([0, 0, 0, 0, 1])


def make(**options: object) -> GPS:
    model = build("gps", 3, 2, task="node", options={"hidden_channels": 8, "num_layers": 1, **options}).double()
    assert isinstance(model, GPS)
    return model


def features() -> Tensor:
    return torch.randn(5, 3, dtype=torch.float64)


@pytest.mark.parametrize("training", [False, True])
def test_a_layer_is_pygs(training: bool) -> None:
    model, x = make(dropout=0.0).train(training), features()
    layer = model.layers[0]
    assert isinstance(layer, GPSConv)
    theirs = GPSConv(8, layer.conv, heads=4).double().train(training)
    theirs.load_state_dict(layer.state_dict())
    expected = theirs(model.encoder(x), EDGES, BATCH)
    torch.testing.assert_close(model.embed(x, EDGES, BATCH), expected)


def test_with_attention_that_says_nothing_only_the_message_is_left() -> None:
    model, x = make().eval(), features()
    layer = model.layers[0]
    assert isinstance(layer, GPSConv)
    with torch.no_grad():
        layer.attn.out_proj.weight.zero_()
        layer.attn.out_proj.bias.zero_()
    h = model.encoder(x)
    u = layer.norm1(h + layer.conv(h, EDGES)) + layer.norm2(h)
    torch.testing.assert_close(model.embed(x, EDGES, BATCH), layer.norm3(u + layer.mlp(u)))


def test_a_node_hears_all_of_its_graph_and_nothing_of_another() -> None:
    model, x = make().eval(), features()
    no_edges = torch.empty(2, 0, dtype=torch.long)
    before = model(x, no_edges, BATCH)
    x[3] += 1.0
    after = model(x, no_edges, BATCH)
    assert not torch.isclose(before[:4], after[:4]).all(-1).any()
    torch.testing.assert_close(before[4], after[4])


def test_many_nodes_are_evaluated_without_weights_between_all_pairs() -> None:
    model = build("gps", 3, 2, task="node", options={"hidden_channels": 8, "num_layers": 1, "heads": 2}).eval()
    x = torch.randn(2_000, 3)
    with torch.no_grad(), torch.profiler.profile(profile_memory=True) as profile:
        model(x, torch.randint(2_000, (2, 10)))
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    assert largest < 4 * 2_000**2, "less than the weights of a single head"


def test_attention_weights_are_dropped_only_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1000")
    model, x = make(attention_dropout=0.5), features()
    with pytest.raises(UserError, match="attention between 4 tokens needs"):
        model(x, EDGES, BATCH)
    model.eval()(x, EDGES, BATCH)


def test_gcn_takes_no_edge_features() -> None:
    with pytest.raises(UserError, match="model gps: message 'gcn' takes no edge features; 'gine' does"):
        make(message="gcn", edge_dim=2)
    assert make(message="gine").num_parameters > make().num_parameters
