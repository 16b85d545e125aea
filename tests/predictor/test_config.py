from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.predictor.config import DEFAULT_TRAINING, changes_of, check_config, load_config, settle_options


def test_what_is_written_is_read_as_an_equal_description(tmp_path: Path) -> None:
    config = check_config({"data": "a.csv", "target": ["y: 1"], "model": {"name": "gin", "dropout": 0.2}}, "test")
    (tmp_path / "c.yaml").write_text(config.to_yaml())
    assert load_config(tmp_path / "c.yaml") == config


def test_changes_lie_over_a_file_and_another_model_takes_no_old_options(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("data: a.csv\nmodel: {name: gin, dropout: 0.2}\ntraining: {epochs: 7, batch_size: 5}\n")
    changed = load_config(path, {"training": {"epochs": 9}, "model": {"num_layers": 2}})
    assert changed.model == {"name": "gin", "dropout": 0.2, "num_layers": 2, "head_layers": 2}
    assert (changed.training.epochs, changed.training.batch_size) == (9, 5)
    assert load_config(path, {"model": {"name": "gcn"}}).model == {"name": "gcn", "num_layers": 4, "head_layers": 2}


def test_a_short_training_has_a_short_warm_up() -> None:
    assert check_config({"data": "a.csv", "training": {"epochs": 1}}, "test").training.warmup_epochs == 0


def test_set_is_for_the_model_and_for_the_training() -> None:
    changes = changes_of(["hidden_channels=32", "training.learning_rate=1e-3", "model.dropout=0.5"])
    assert changes == {"model": {"hidden_channels": 32, "dropout": 0.5}, "training": {"learning_rate": 0.001}}


@pytest.mark.parametrize("text", ["x", "=3", "data.x=1", "training.=1", "a={"])
def test_a_wrong_set_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--set"):
        changes_of([text])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"data": "a", "fold": 3}, "test: unknown key 'fold'; did you mean 'folds'"),
        ({"data": "a", "training": {"epoch": 3}}, "unknown key 'training.epoch'; did you mean 'epochs'"),
        ({}, "test: data: Field required"),
        ({"data": "a", "coverage": 1.0}, "test: coverage: "),
        ({"data": "a", "model": {}}, "must have a name"),
        ({"data": "a", "folds": 3, "split": "column"}, "says itself how many folds"),
        ({"data": "a", "training": {"epochs": "many"}}, "training.epochs"),
        ({"data": "a", "training": {"epochs": 1, "warmup_epochs": 1}}, r"warmup_epochs \(1\) .* epochs \(1\)$"),
    ],
)
def test_a_wrong_description_is_one_line(content: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        check_config(content, "test")
    assert "\n" not in str(caught.value)


def test_molecules_have_their_own_defaults_and_anything_said_goes_first() -> None:
    molecules = check_config({"data": "a.csv.gz", "training": {"epochs": 7}}, "test")
    assert molecules.model == {"name": "msh-stable", "num_layers": 4, "head_layers": 2, "aggr": "sqrt_degree"}
    assert check_config({"data": "a.csv", "model": {"name": "msh-paper"}}, "test").model == {"name": "msh-paper"}
    assert (molecules.training.epochs, molecules.training.batch_size) == (7, 64)
    assert (
        check_config({"data": "a.csv", "model": {"name": "gine", "num_layers": 2}}, "test").options["num_layers"] == 2
    )
    for data in ("a.jsonl", "folder", "folder/nodes.csv"):
        other = check_config({"data": data}, "test")
        assert (other.model, other.training) == ({"name": "msh-stable"}, DEFAULT_TRAINING)


def test_nodes_and_graphs_get_the_options_that_the_lab_has_for_them() -> None:
    plain = check_config({"data": "graph.npz"}, "test")
    assert settle_options(plain, "node").options == {"aggr": "sqrt_degree", "centered": True}
    assert settle_options(plain, "graph").options == {"relative_phases": True}
    assert settle_options(settle_options(plain, "node"), "node") == settle_options(plain, "node")
    for data, model in (("graph.npz", {"name": "gcn"}), ("graph.npz", {"name": "msh-paper"}), ("a.csv", {})):
        chosen = check_config({"data": data, "model": {"name": "msh-stable", **model}}, "test")
        assert settle_options(chosen, "graph") == chosen


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ({"aggr": "sum"}, {"aggr": "sum", "centered": True}),
        ({"phase_scale": 1.0}, {"phase_scale": 1.0, "aggr": "sqrt_degree", "centered": True}),
        ({"frequencies": [2.0]}, {"frequencies": [2.0], "aggr": "sqrt_degree", "centered": True}),
        ({"frequencies": "none"}, {"frequencies": "none", "aggr": "sqrt_degree"}),  # nothing to take a mean from
        ({"phase_scale": None}, {"phase_scale": None, "aggr": "sqrt_degree"}),
    ],
)
def test_an_option_that_is_said_leaves_the_others_as_the_task_decides(
    said: dict[str, object], settled: dict[str, object]
) -> None:
    config = check_config({"data": "graph.npz", "model": {"name": "msh-stable", **said}}, "test")
    options = settle_options(config, "node").options
    assert options == settled
    build("msh-stable", 4, 2, task="node", options=options)  # what was settled can be built


def test_an_unknown_word_for_unseen_labels_is_refused() -> None:
    assert check_config({"data": "a.jsonl"}, "test").unseen == "other"
    with pytest.raises(UserError, match="test: unseen: "):
        check_config({"data": "a.jsonl", "unseen": "ignore"}, "test")
