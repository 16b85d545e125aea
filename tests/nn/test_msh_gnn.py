from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from transcription import transcribed

from mshgnn.nn import MSHGNN, PRESETS, MSHConv
from mshgnn.nn.graph_model import Layer
from mshgnn.testing import (
    assert_batch_consistent,
    assert_gradients,
    assert_permutation_equivariant,
    assert_permutation_invariant,
)

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])
SMALL: dict[str, Any] = {"hidden_channels": 4, "num_projections": 2}


def small(preset: str, **options: Any) -> MSHGNN:
    return MSHGNN.from_preset(preset, 3, 2, **{**SMALL, **options}).double().eval()


def features() -> Tensor:
    return torch.randn(5, 3, dtype=torch.float64)


def graphs() -> list[Data]:
    sizes = (5, 1, 8, 3)
    return [
        Data(x=torch.randn(n, 3, dtype=torch.float64), edge_index=torch.randint(0, n, (2, 3 * n if n > 1 else 0)))
        for n in sizes
    ]


def randomise_statistics(model: MSHGNN) -> None:
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)


def transcribed_states(model: MSHGNN, preset: str, x: Tensor, edges: Tensor) -> list[Tensor]:
    """The node states after every layer, by the update of each preset written out."""
    states = [x if model.encoder is None else x @ model.encoder.weight.t() + model.encoder.bias]
    for layer in model.layers:
        assert isinstance(layer, Layer)
        assert isinstance(layer.message, MSHConv)
        update: Any = layer.update
        h = states[-1]
        m = transcribed(layer.message, h, edges)[0]
        first, _, _, second = update.mlp
        if preset == "paper":
            states.append(second(first(h + m).relu()))
        elif preset == "released":
            states.append(update.norm(second(first(torch.cat([h, m], dim=1)).relu())).relu())
        else:
            states.append(h + second(first(update.norm(h @ update.root.weight.T + m).relu()).relu()))
    return states


@pytest.mark.parametrize("preset", PRESETS)
def test_node_model_equals_the_equations(preset: str) -> None:
    model, x = small(preset, task="node", embed_norm=False), features()
    randomise_statistics(model)
    # released adds a loop to every node that has none; node 1 has its own.
    loops = torch.tensor([[0, 2, 3, 4], [0, 2, 3, 4]])
    edges = torch.cat([EDGES, loops], dim=1) if preset == "released" else EDGES
    states = transcribed_states(model, preset, x, edges)
    torch.testing.assert_close(model.embed(x, EDGES), states[-1], rtol=0, atol=1e-10)
    torch.testing.assert_close(model(x, EDGES), model.head(states[-1]), rtol=0, atol=1e-10)


def test_presets_are_what_method_md_says() -> None:
    paper, released, stable = (MSHGNN.from_preset(name, 7, 3) for name in ("paper", "released", "stable"))
    wanted: dict[str, dict[str, object]] = {
        "paper": {"phase": True, "aggr": "sum", "update": "mlp", "num_layers": 3, "num_projections": 16},
        "released": {"phase": False, "aggr": "mean", "update": "concat", "num_layers": 2, "num_projections": 64},
        "stable": {"phase": True, "aggr": "sum", "update": "residual", "normalize": True, "phase_scale": 0.3},
    }
    for name, model in {"paper": paper, "released": released, "stable": stable}.items():
        for option, value in wanted[name].items():
            assert model.options[option] == value, (name, option)
    assert released.options["self_loops"] is True
    assert (paper.options["readout"], released.options["readout"]) == ("frequency", "attention")
    assert stable.options == MSHGNN(7, 3).options
    overridden = MSHGNN.from_preset("paper", 7, 3, num_layers=5)
    assert len(overridden.layers) == 5
    with pytest.raises(ValueError, match="preset must be one of paper, released, stable, got 'best'"):
        MSHGNN.from_preset("best", 7, 3)
    with pytest.raises(ValueError, match="no option 'num_layer'; did you mean 'num_layers'"):
        MSHGNN.from_preset("paper", 7, 3, num_layer=5)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("readout", ["frequency", "mean", "sum", "max", "attention"])
def test_graph_models_are_invariant_and_batch_consistent(preset: str, readout: str) -> None:
    model = small(preset, readout=readout)
    randomise_statistics(model)
    assert_permutation_invariant(model, features(), EDGES)
    assert_permutation_invariant(model, features(), EDGES, torch.tensor([0, 0, 0, 0, 1]))
    assert_batch_consistent(model, graphs())


@pytest.mark.parametrize("preset", PRESETS)
def test_node_models_are_equivariant_and_batch_consistent(preset: str) -> None:
    model = small(preset, task="node")
    assert_permutation_equivariant(model, features(), EDGES)
    assert_batch_consistent(model, graphs())


@pytest.mark.parametrize("preset", PRESETS)
def test_gradients_are_right(preset: str) -> None:
    # Averages and softmax gates as well: what the presets leave out is covered by the layer's tests.
    assert_gradients(small(preset, frequencies="learned"), features(), EDGES)


def test_edge_features_reach_every_layer() -> None:
    model = small("stable", edge_dim=2)
    edge_attr = torch.randn(6, 2, dtype=torch.float64)
    assert_gradients(model, features(), EDGES, edge_attr=edge_attr)
    assert_permutation_invariant(model, features(), EDGES, edge_attr=edge_attr)
    looped = small("stable", edge_dim=2, self_loops=True)
    assert looped(features(), EDGES, edge_attr=edge_attr).isfinite().all()


def test_number_of_parameters() -> None:
    model = MSHGNN.from_preset("paper", 7, 3, num_layers=1, hidden_channels=4, num_projections=2, readout_channels=5)
    head = 5 * 3 + 3
    layer = (7 * 2 * 7 + 2 * 7) + (7 * 2 + 2) + 12 * 7
    readout = 7 + 7 * 5 + 1
    assert model.num_parameters == layer + readout + head


def test_embedding_is_what_the_head_sees() -> None:
    for task in ("graph", "node"):
        model, x = small("stable", task=task), features()
        torch.testing.assert_close(model.head(model.embed(x, EDGES)), model(x, EDGES))


def test_forms_of_edges_and_features() -> None:
    model, x = small("stable"), features().relu()
    expected = model(x, EDGES)
    assert model(x, EdgeIndex(EDGES, sparse_size=(5, 5))).equal(expected)
    adjacency = torch.zeros(5, 5, dtype=torch.float64)
    adjacency[EDGES[1], EDGES[0]] = 1
    torch.testing.assert_close(model(x, adjacency.to_sparse_csr()), expected)
    torch.testing.assert_close(model(x.to_sparse_csr(), EDGES), expected)
    torch.testing.assert_close(model(x.to_sparse(layout=torch.sparse_coo), EDGES), expected)
    looped = small("released")
    torch.testing.assert_close(looped(x, adjacency.to_sparse_csr()), looped(x, EDGES))
    torch.testing.assert_close(looped(x, EdgeIndex(EDGES, sparse_size=(5, 5))), looped(x, EDGES))


def test_batch_may_be_given_in_any_order_and_width() -> None:
    model, x = small("stable"), features()
    batch = torch.tensor([1, 1, 1, 1, 0])
    expected = model(x, EDGES, batch)
    assert model(x, EDGES, batch.int(), batch_size=2).equal(expected)
    padded = model(x, EDGES, batch, batch_size=4)
    torch.testing.assert_close(padded[:2], expected, rtol=0, atol=1e-14)
    assert padded[2].equal(padded[3])


def test_reset_copy_and_pickle() -> None:
    for preset in PRESETS:
        model, x = small(preset), features()
        expected = model(x, EDGES)
        assert copy.deepcopy(model)(x, EDGES).equal(expected)
        assert pickle.loads(pickle.dumps(model))(x, EDGES).equal(expected)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(7.0)
        model.reset_parameters()
        for name, parameter in model.named_parameters():
            assert not parameter.eq(7.0).any(), (preset, name)


def test_a_training_batch_of_one_node_runs() -> None:
    model = MSHGNN(3, 2, **SMALL).train()
    assert model(torch.randn(1, 3), EDGES[:, :0]).isfinite().all()


def test_autocast() -> None:
    model, x = MSHGNN(3, 2, **SMALL).eval(), torch.randn(5, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(x, EDGES)
    torch.testing.assert_close(mixed.float(), model(x, EDGES), rtol=0.05, atol=0.05)


def test_inference_mode_and_tensors_made_in_it() -> None:
    model, x = small("stable"), features()
    expected = model(x, EDGES).detach()
    with torch.inference_mode():
        assert model(x, EDGES).equal(expected)
        edges = EDGES.clone()
    assert model(x, edges).equal(expected)


def test_repr_shows_the_layers() -> None:
    assert "MSHConv(4, 4, num_projections=2, rank=2, frequencies=(1.0, 2.0, 4.0), aggr=sum)" in repr(small("stable"))


def test_layers_of_a_model_are_independent() -> None:
    convs = [module for module in small("stable").modules() if isinstance(module, MSHConv)]
    assert len(convs) == 3
    assert not torch.equal(*(conv.generator.get_parameter("sender") for conv in convs[:2]))
