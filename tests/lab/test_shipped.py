"""Every shipped suite is valid: its data sets, its models and their options; records lie where they belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.data.catalogue import find
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.registry import CONTROLS, MODELS, build
from mshgnn.lab.shipped import find_file, shipped_experiments
from mshgnn.lab.suite import load_experiments

FOLDER = shipped_experiments()
RESULTS = FOLDER.parent / "results"
SUITES = [path.relative_to(FOLDER).with_suffix("") for path in sorted(FOLDER.rglob("*.yaml"))]
TUNED = {name for name in MODELS if name.endswith("-tuned")}
GRAPH = ("MUTAG", "PTC", "PROTEINS", "NCI1", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "COLLAB")
NODE = ("AmazonPhoto", "AmazonComputers", "CoauthorPhysics", "Minesweeper")
# Models of one data set or one recipe, which have their own suites; the released code has one preset for graphs.
ELSEWHERE = {
    "graph": {"joint-gcn", "joint-gat"} | TUNED,
    "node": {"joint-gcn", "joint-gat", "msh-released", "gine"} | TUNED,
}


def cells(suite: str) -> dict[str, Experiment]:
    return {experiment.name: experiment for experiment in load_experiments(Path(suite))}


def test_the_published_numbers_have_their_cells() -> None:
    for suite, datasets, task in (("graph", GRAPH, "graph"), ("node", NODE, "node")):
        models = {name for name, builder in MODELS.items() if task in builder.tasks} - ELSEWHERE[task]
        models |= {*CONTROLS} if task == "graph" else set()
        assert set(cells(suite)) == {f"{suite}/{dataset}/{model}" for dataset in datasets for model in models}
    assert len(cells("joint")) == 3 * 7
    assert len(cells("tuned")) == 5
    assert len(cells("capacity")) == 2 * 8 + 3  # and `released` as its authors ran it


@pytest.mark.parametrize("suite", SUITES, ids=str)
def test_every_cell_of_a_suite_can_be_run(suite: Path) -> None:
    for experiment in load_experiments(suite):
        entry = find(experiment.dataset.name)
        assert entry.name == experiment.dataset.name
        choice = experiment.model
        experiment.resolved()
        if choice.name not in CONTROLS:
            build(choice.name, 3, 4, task=entry.task, options=choice.options)


@pytest.mark.parametrize("suite", SUITES, ids=str)
def test_every_record_belongs_to_a_cell(suite: Path) -> None:
    names = cells(str(suite))
    for path in (RESULTS / suite).glob("*/*.json.gz"):
        assert path.relative_to(RESULTS).as_posix().removesuffix(".json.gz") in names


def test_every_trial_has_its_record() -> None:
    for suite in SUITES:
        if suite.parts[0] == "trials":
            for name in cells(str(suite)):
                assert (RESULTS / f"{name}.json.gz").exists()


def test_joint_models_have_the_size_of_the_paper() -> None:
    sizes = {}
    for experiment in load_experiments(Path("joint"), only=["structure-frequency-fixed/*"]):
        choice = experiment.model
        if choice.name not in CONTROLS:
            network = build(choice.name, 1, 30, task="graph", options=choice.options)
            sizes[choice.name] = sum(parameter.numel() for parameter in network.parameters())
    assert sizes["joint-gcn"] == 6238
    assert sizes["joint-gat"] == 6494
    assert sizes["msh-stable"] <= 7300
    for model in ("gcn", "gat", "gin"):
        assert sizes["joint-gcn"] < sizes[model] <= 7300


def test_a_file_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_file(Path("graph")) == FOLDER / "graph.yaml"
    assert find_file(Path("trials/phase")) == FOLDER / "trials" / "phase.yaml"
    Path("graph").write_text("models: {}")
    assert find_file(Path("graph")) == Path("graph")
    with pytest.raises(ExperimentError, match="nod: no such file; did you mean 'node'"):
        find_file(Path("nod"))
    with pytest.raises(ExperimentError, match="no such file"):
        find_file(Path("../joint"))


def test_without_a_source_tree_the_package_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site-packages" / "mshgnn"
    installed.mkdir(parents=True)
    monkeypatch.setattr("mshgnn.lab.shipped.__file__", str(installed / "lab" / "shipped.py"))
    assert shipped_experiments() == installed / "experiments"
