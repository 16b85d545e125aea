"""Every committed experiment is valid: its keys, its data set's name, its model and the model's options."""

from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.data.catalogue import find
from mshgnn.lab.experiment import load_experiment
from mshgnn.models import build
from mshgnn.models.controls import CONTROLS

FOLDER = Path(__file__).parents[2] / "experiments"
FILES = sorted(path for path in FOLDER.rglob("*.yaml") if path.parent.name != "defaults")


def test_the_published_numbers_have_their_files() -> None:
    names = {path.stem for path in FILES}
    models = ("msh-stable", "msh-paper", "msh-released", "gcn", "gat", "gin", "film", "mlp", *CONTROLS)
    sets = ("mutag", "ptc", "proteins", "nci1", "imdb-b", "imdb-m", "reddit-b", "collab")
    expected = {f"{dataset}-{model}" for dataset in sets for model in models}
    nodes = ("photo", "computers", "physics", "minesweeper")
    expected |= {f"{d}-{m}" for d in nodes for m in ("msh-stable", "msh-paper", "gcn", "gat", "sage", "film")}
    variants = ("fixed", "varied", "wellposed")
    expected |= {f"joint-{variant}-{m}" for variant in variants for m in ("gcn", "gat", "msh-stable", "knn")}
    assert expected <= names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_experiment_is_valid(path: Path) -> None:
    experiment = load_experiment(path)
    assert experiment.name == path.stem
    entry = find(experiment.dataset.name)
    assert entry.name == experiment.dataset.name
    choice = experiment.model
    if choice.name in CONTROLS:
        assert not choice.options
    else:
        build(choice.name, 3, 4, task=entry.task, options=choice.options)


def test_joint_models_have_the_size_of_the_paper() -> None:
    sizes = {}
    for model in ("gcn", "gat", "msh-stable", "gcn-shell", "gat-shell", "gin-shell"):
        choice = load_experiment(FOLDER / "joint" / f"joint-fixed-{model}.yaml").model
        network = build(choice.name, 1, 30, task="graph", options=choice.options)
        sizes[model] = sum(parameter.numel() for parameter in network.parameters())
    assert sizes["gcn"] == 6238
    assert sizes["gat"] == 6494
    assert sizes["msh-stable"] <= 7300
    for model in ("gcn-shell", "gat-shell", "gin-shell"):
        assert sizes["gcn"] < sizes[model] <= 7300
