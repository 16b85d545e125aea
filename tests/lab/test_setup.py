from __future__ import annotations

import pytest
import torch
from lab_helpers import make_data, make_experiment
from torch_geometric.data import Data

from mshgnn.data import GraphDataset, Splits, from_graphs
from mshgnn.lab import setup
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.setup import LoadedData, check_model, load_data


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> LoadedData:
    """What a catalogue of one set gives, loaded through the lab's own door."""
    data = make_data()
    monkeypatch.setattr(setup, "load", lambda *_, **__: data.dataset)
    monkeypatch.setattr(setup, "load_splits", lambda *_: data.splits)
    return data


def with_edges(dataset: GraphDataset) -> GraphDataset:
    graphs = [
        Data(x=g.x, edge_index=g.edge_index, y=g.y, edge_attr=torch.rand(g.edge_index.size(1), 3))
        for g in dataset.graphs
    ]
    return from_graphs(graphs, name="tiny")


def test_edge_features_of_a_set_without_them_are_a_mistake(tiny: LoadedData) -> None:
    with pytest.raises(ExperimentError, match=r"dataset.edge_features: tiny has no edge features"):
        load_data(make_experiment(dataset={"name": "tiny", "edge_features": True}))


def test_a_model_that_takes_no_edge_features_is_named(tiny: LoadedData) -> None:
    dataset = with_edges(tiny.dataset)
    for model in ("gcn", "majority"):
        with pytest.raises(ExperimentError, match=rf"dataset.edge_features: {model} takes no .*msh-stable") as caught:
            check_model(make_experiment(model={"name": model}), dataset)
        assert "edge_dim" not in str(caught.value)
    check_model(make_experiment(model={"name": "msh-stable"}), dataset)


def test_edge_features_are_given_only_when_asked_for(tiny: LoadedData, monkeypatch: pytest.MonkeyPatch) -> None:
    rich = with_edges(tiny.dataset)
    monkeypatch.setattr(setup, "load", lambda *_, **__: rich)
    bare = load_data(make_experiment()).dataset
    assert bare.edge_dim == 0
    assert all(graph.edge_attr is None for graph in bare.graphs)
    assert all(graph.edge_attr is not None for graph in rich.graphs), "the set itself keeps its own"
    asked = load_data(make_experiment(dataset={"name": "tiny", "edge_features": True})).dataset
    assert asked.edge_dim == 3


def test_encodings_reach_any_model_in_one_order(
    tiny: LoadedData, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(tmp_path))
    found = [
        load_data(make_experiment(dataset={"name": "tiny", "encodings": encodings})).dataset
        for encodings in ({"lappe": 2, "rwpe": 3}, {"rwpe": 3, "lappe": 2})
    ]
    assert found[0].num_features == 4 + 2 + 3
    assert found[0].checksum == found[1].checksum != tiny.dataset.checksum
    ring = found[0].graphs[0]  # a ring of three: a walk returns after two steps of two, after three of four
    assert torch.allclose(ring.x[:, 6:], torch.tensor([0.0, 0.5, 0.25]).expand(3, 3))
    for model in ("gcn", "msh-stable", "mlp"):
        check_model(make_experiment(model={"name": model}), found[0])


def test_encodings_change_the_digest() -> None:
    plain, encoded = make_experiment(), make_experiment(dataset={"name": "tiny", "encodings": {"rwpe": 3}})
    assert plain.digest != encoded.digest


def test_splits_are_read_before_features_are_taken_off(tiny: LoadedData, monkeypatch: pytest.MonkeyPatch) -> None:
    rich = with_edges(tiny.dataset)

    def splits_of(dataset: GraphDataset, name: str) -> Splits:
        assert dataset is rich
        return tiny.splits

    monkeypatch.setattr(setup, "load", lambda *_, **__: rich)
    monkeypatch.setattr(setup, "load_splits", splits_of)
    assert load_data(make_experiment()).splits is tiny.splits
