from __future__ import annotations

import pytest

from mshgnn.baselines import MODELS, build


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gni", {}, "unknown model 'gni'; did you mean 'gin'"),
        ("gin", {"num_layer": 2}, "model gin: unknown option 'num_layer'; did you mean 'num_layers'"),
        ("gat", {"hidden": 2}, "did you mean 'hidden_channels'"),
        ("gin", {"heads": 2}, "unknown option 'heads'"),
        ("gin", {"hidden_channels": 0}, "model gin: option hidden_channels cannot be 0"),
        ("gin", {"num_layers": "many"}, "option num_layers cannot be 'many'"),
        ("gin", {"dropout": 1.0}, "option dropout cannot be 1.0"),
        ("gin", {"readout": "median"}, "option readout cannot be 'median': .*'sum', 'mean' or 'max'"),
        ("gat", {"heads": 7}, "heads must divide hidden_channels"),
        ("gin", {"task": "node"}, "unknown option 'task'"),
        ("msh-stable", {"num_projection": 4}, "did you mean 'num_projections'"),
        ("msh-stable", {"dropout": 2.0}, "model msh-stable: dropout"),
    ],
)
def test_mistakes_are_named_in_one_line(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as mistake:
        build(name, 4, 2, task="graph", options=options)
    assert "\n" not in str(mistake.value)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ValueError, match="task must be 'graph' or 'node', not 'edge'"):
        build("gin", 4, 2, task="edge", options={})  # type: ignore[arg-type]


def test_options_reach_the_shell_and_the_message() -> None:
    model = build("gat", 4, 2, task="graph", options={"heads": 2, "num_layers": 5, "hidden_channels": 6})
    assert len(model.layers) == 5  # type: ignore[arg-type]
    assert all(layer.message.heads == 2 for layer in model.layers)  # type: ignore[union-attr]


def test_every_model_builds_with_its_defaults() -> None:
    for name in MODELS:
        for task in ("graph", "node"):
            assert build(name, 4, 2, task=task) is not None
