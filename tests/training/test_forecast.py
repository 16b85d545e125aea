"""What a step on the whole graph will take is said before it is tried."""

from __future__ import annotations

import re

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.data import GraphDataset, from_graphs
from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.training import forecast as module
from mshgnn.training.forecast import forecast, step_seconds
from mshgnn.training.settings import TrainingSettings

pytestmark = pytest.mark.usefixtures("reference_backend")
SETTINGS = TrainingSettings()


def node_task() -> GraphDataset:
    graph = Data(x=torch.randn(300, 4), edge_index=torch.randint(300, (2, 900)), y=torch.arange(300) % 2)
    return from_graphs([graph], task="node")


def test_a_large_graph_is_told_and_a_small_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    model, dataset = build("msh-stable", 4, 2, task="node", options={"hidden_channels": 8}), node_task()
    assert forecast(model, dataset, SETTINGS) is None
    monkeypatch.setattr(module, "WORTH_SAYING", 1000)
    said = forecast(model, dataset, SETTINGS)
    assert said is not None
    figure = r"[\d.e+-]+"
    assert re.fullmatch(
        rf"a step on the whole graph \(300 nodes, 900 edges\) takes about {figure} GB beside the data, and {figure} s",
        said,
    )
    assert forecast(model, dataset, TrainingSettings(batching="neighbours")) is None
    assert forecast(build("sage", 4, 2, task="node"), dataset, SETTINGS) is None


def test_a_graph_that_does_not_fit_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_SAYING", 1000)
    monkeypatch.setenv("MSHGNN_MEMORY", "1K")
    model = build("msh-stable", 4, 2, task="node", options={"hidden_channels": 8})
    with pytest.raises(UserError, match=r"whole graph .* unless batching is neighbours or partitions, needs"):
        forecast(model, node_task(), SETTINGS)


def test_a_trial_leaves_model_and_random_numbers_alone() -> None:
    model = build("msh-stable", 4, 2, task="node", options={"hidden_channels": 8})
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    assert step_seconds(model, 300, 900, 4) > 0
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
