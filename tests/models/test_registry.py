from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.models import MODELS, build, from_pretrained, measured_options, resolve
from mshgnn.nn import MSHGNN, GraphModel
from mshgnn.nn.model import Task
from mshgnn.nn.options import describe_type

every_model = pytest.mark.parametrize("name", MODELS)
every_task = pytest.mark.parametrize(("name", "task"), [(name, task) for name in MODELS for task in MODELS[name].tasks])
EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ginn", {}, "unknown model 'ginn'; did you mean 'gin'"),
        ("gin", {"num_layer": 2}, "model gin: it has no option 'num_layer'; did you mean 'num_layers'"),
        ("gat", {"hidden": 2}, "did you mean 'hidden_channels'"),
        ("gin", {"heads": 2}, "no option 'heads'"),
        ("gin", {"hidden_channels": 0}, "model gin: hidden_channels must be an integer from 1 to 100,000, got 0"),
        ("gin", {"num_layers": "many"}, "model gin: num_layers must be an integer from 1 to 1,000, got 'many'"),
        ("gin", {"num_layers": 10**9}, "num_layers must be an integer from 1 to 1,000, got 1000000000"),
        ("gin", {"num_layers": True}, "num_layers must be an integer from 1 to 1,000, got True"),
        ("gin", {"num_layers": 2.0}, "num_layers must be an integer from 1 to 1,000, got 2.0"),
        ("gin", {"embed_norm": "no"}, "embed_norm must be true or false, got 'no'"),
        ("gin", {"dropout": 1.0}, "dropout must be a number from 0 to below 1, got 1.0"),
        ("gin", {"dropout": float("nan")}, "dropout must be a number from 0 to below 1, got nan"),
        ("gin", {"readout": "median"}, "readout must be one of frequency, mean, sum, max, attention, got 'median'"),
        ("gin", {"readout": "frequency"}, "readout 'frequency' reads messages one by one, which MSHConv alone gives"),
        ("gat", {"heads": 7}, "heads must divide hidden_channels"),
        ("gin", {"task": "node"}, "no option 'task'"),
        ("joint-gcn", {"dropout": 0.5}, "no option 'dropout'"),
        ("gcn-tuned", {"residual": 1}, "residual must be true or false, got 1"),
        ("msh-stable", {"num_projection": 4}, "did you mean 'num_projections'"),
        ("msh-stable", {"root_weight": True}, "no option 'root_weight'"),
        ("msh-stable", {"num_projections": 10**9}, "num_projections must be an integer from 1 to 100,000"),
        ("msh-stable", {"dropout": 2.0}, "model msh-stable: dropout"),
        ("msh-stable", {"frequencies": "cubic"}, "model msh-stable: frequencies must be one of"),
    ],
)
def test_mistakes_are_named_in_one_line(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message) as mistake:
        build(name, 4, 2, task="graph", options=options)
    assert "\n" not in str(mistake.value)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(UserError, match="task must be one of graph, node, got 'edge'"):
        build("gin", 4, 2, task="edge", options={})  # type: ignore[arg-type]


def test_a_task_that_its_paper_does_not_have_is_refused() -> None:
    refused = 0
    for name, builder in MODELS.items():
        for task in {*get_args(Task)} - {*builder.tasks}:
            with pytest.raises(
                UserError, match=f"^model {name}: it is for {builder.tasks[0]} tasks alone, not for {task}"
            ):
                build(name, 4, 2, task=task)
            refused += 1
    assert refused


def test_options_reach_the_shell_and_the_message() -> None:
    model = build("gat", 4, 2, task="graph", options={"heads": 2, "num_layers": 5, "hidden_channels": 6})
    assert isinstance(model, GraphModel)
    assert len(model.layers) == 5
    assert all(message.heads == 2 for message in model.messages)


@every_model
def test_options_resolve_to_all_of_them_as_json_and_back(name: str) -> None:
    resolved = resolve(name)
    assert set(resolved) == set(MODELS[name].options)
    assert json.loads(json.dumps(resolved)) == resolved
    assert resolve(name, resolved) == resolved
    for option, parameter in MODELS[name].options.items():
        assert describe_type(parameter.annotation), option


def test_a_preset_resolves_to_its_own_defaults() -> None:
    assert resolve("msh-paper")["readout"] == "frequency"
    assert resolve("msh-paper", {"readout": "sum"})["readout"] == "sum"
    assert resolve("msh-released")["num_projections"] == 64
    assert resolve("msh-stable")["frequencies"] == [1.0, 2.0, 4.0]
    assert resolve("gin", {"dropout": 0})["dropout"] == 0.0


@every_task
def test_a_model_holds_what_it_was_made_with(name: str, task: Task) -> None:
    model = build(name, 4, 2, task=task)
    assert model.options == {"in_channels": 4, "out_channels": 2, "task": task, **resolve(name)}


@every_task
def test_every_model_is_saved_and_read_again(name: str, task: Task, tmp_path: Path) -> None:
    options = {"hidden_channels": 16} if "hidden_channels" in MODELS[name].options else {}
    model, x = build(name, 3, 2, task=task, options=options), torch.randn(5, 3)
    for _ in range(3):  # statistics that a fresh model does not have
        model(x, EDGES)
    model.eval().save_pretrained(tmp_path)
    loaded = from_pretrained(tmp_path).eval()
    assert type(loaded) is type(model)
    assert loaded.options == model.options
    assert loaded(x, EDGES).equal(model(x, EDGES))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_an_msh_gnn_is_read_by_its_class_and_by_name(tmp_path: Path) -> None:
    build("msh-paper", 3, 2, task="graph", options={"hidden_channels": 8}).save_pretrained(tmp_path)
    for loaded in (MSHGNN.from_pretrained(tmp_path), from_pretrained(tmp_path)):
        assert isinstance(loaded, MSHGNN)
        assert loaded.options["update"] == "mlp"


def test_a_saved_model_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    build("gcn", 3, 2, task="graph").save_pretrained(tmp_path)
    config = tmp_path / "config.json"
    text = config.read_text()
    config.write_text(text.replace('"gcn"', '"gccn"'))
    with pytest.raises(UserError, match=r"config\.json: unknown model 'gccn'; did you mean 'gcn'"):
        from_pretrained(tmp_path)
    config.write_text(text.replace('"dropout": 0.1', '"dropout": "much"'))
    with pytest.raises(UserError, match=r"config\.json: model gcn: dropout must be a number"):
        from_pretrained(tmp_path)
    config.write_text(text.replace('"graph"', '"edge"'))
    with pytest.raises(UserError, match=r"config\.json: task must be one of graph, node, got 'edge'"):
        from_pretrained(tmp_path)


@every_model
def test_a_model_has_a_title_and_a_source(name: str) -> None:
    assert MODELS[name].title
    assert MODELS[name].paper
    assert MODELS[name].paper.count("\n") == 0


def test_titles_are_told_apart() -> None:
    assert len({builder.title for builder in MODELS.values()}) == len(MODELS)


def test_options_can_be_measured_on_the_training_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(graphs: Sequence[Data]) -> dict[str, object]:
        return {"hidden_channels": sum(int(graph.num_nodes) for graph in graphs)}

    monkeypatch.setitem(MODELS, "mlp", replace(MODELS["mlp"], measure=measure))
    graphs = [Data(num_nodes=n) for n in (2, 3)]
    assert measured_options("mlp", graphs) == {"hidden_channels": 5}
    assert measured_options("gcn", graphs) == {}
