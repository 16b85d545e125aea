from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.suite import load_experiments

SUITE = """
name: mine
recipe: {training: {epochs: 60, batch_size: 64}, model: {dropout: 0.2}, seeds: [0, 1]}
datasets:
  MUTAG: {training: {epochs: 150}, model: {dropout: 0.5}}
  PTC: {models: [wide, majority], dataset: {features: degree}}
models:
  gcn:
  wide: {about: a wide one, model: {name: gcn, hidden_channels: 256}}
  majority: {own: [model, training], training: {epochs: 1}}
cells:
  "*/wide": {training: {batch_size: default}}
  MUTAG/wide: {model: {dropout: default, num_layers: 4}}
"""


def load(
    folder: Path, text: str = SUITE, only: tuple[str, ...] = (), changes: tuple[str, ...] = ()
) -> list[Experiment]:
    path = folder / "suite.yaml"
    path.write_text(text)
    return load_experiments(path, changes, only)


def test_pieces_lie_over_each_other(tmp_path: Path) -> None:
    found = {experiment.name: experiment for experiment in load(tmp_path)}
    assert list(found) == [
        f"mine/{cell}" for cell in ("MUTAG/gcn", "MUTAG/wide", "MUTAG/majority", "PTC/wide", "PTC/majority")
    ]
    gcn, wide, majority, ptc, _ = found.values()
    assert (gcn.training.epochs, gcn.training.batch_size, gcn.seeds) == (150, 64, (0, 1))
    assert gcn.model.options == {"dropout": 0.5}
    assert (wide.model.name, wide.about) == ("gcn", "a wide one")
    assert wide.model.options == {"hidden_channels": 256, "num_layers": 4}
    assert wide.training.batch_size == 32, "what was taken back has its default"
    assert majority.model.options == {}
    assert (majority.training.epochs, majority.training.batch_size, majority.seeds) == (1, 32, (0, 1))
    assert ptc.model.options == {"hidden_channels": 256, "dropout": 0.2}
    assert ptc.dataset.features == "degree"


def test_only_chooses_cells_by_pattern_and_set_changes_them(tmp_path: Path) -> None:
    chosen = load(tmp_path, only=("PTC/*", "MUTAG/g*"), changes=("training.epochs=3",))
    assert [experiment.name for experiment in chosen] == ["mine/MUTAG/gcn", "mine/PTC/wide", "mine/PTC/majority"]
    assert {experiment.training.epochs for experiment in chosen} == {3}


def test_a_suite_is_called_as_its_file(tmp_path: Path) -> None:
    assert load(tmp_path, SUITE.replace("name: mine\n", ""))[0].name == "suite/MUTAG/gcn"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("recipe:", "recipes:", "unknown key 'recipes' of a suite; did you mean 'recipe'?"),
        ("{epochs: 1}", "{epoch: 1}", "MUTAG/majority: unknown key 'training.epoch'"),
        ("about: a wide one", "abot: a wide one", "models.wide: unknown key 'abot'; did you mean 'about'?"),
        ("own: [model, training]", "own: model", "models.majority.own: must be a list of names"),
        (
            "[wide, majority]",
            "[wide, majorty]",
            "datasets.PTC.models: unknown model 'majorty'; did you mean 'majority'?",
        ),
        ("MUTAG/wide:", "MUTAG/wode:", "cells.MUTAG/wode: no such cell; did you mean 'MUTAG/wide'?"),
        ("  gcn:\n", "  gcn: 3\n", "models.gcn: must be a mapping"),
        ("name: mine", "name: ../mine", "name: .*'../mine/MUTAG/gcn'"),
        ("[0, 1]}", "[0, 0]}", "seeds: must name at least one number and none twice"),
    ],
)
def test_a_mistake_is_one_line_that_says_where(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SUITE
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, SUITE.replace(old, new))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'suite.yaml'}: ")
    assert "\n" not in text
    assert message in text or message.startswith("name")


@pytest.mark.parametrize(("names", "options"), [(100, 0), (50, 5000)])
def test_few_words_that_mean_millions_of_values_are_refused(tmp_path: Path, names: int, options: int) -> None:
    many = "{" + ", ".join(f"n{number}: " for number in range(names)) + "}"
    recipe = "{model: {" + ", ".join(f"o{number}: 1" for number in range(options)) + "}}"
    with pytest.raises(ExperimentError, match=rf"make {names**2:,} cells, more than can be held at once"):
        load(tmp_path, f"datasets: {many}\nmodels: {many}\nrecipe: {recipe}")


def test_an_empty_suite_and_a_pattern_for_one_experiment_are_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="models must be a mapping"):
        load(tmp_path, "datasets: {MUTAG: {}}\nmodels: {}")
    with pytest.raises(ExperimentError, match="is one experiment, not a suite"):
        load(tmp_path, "dataset: {name: MUTAG}\nmodel: {name: gcn}", only=("x",))
