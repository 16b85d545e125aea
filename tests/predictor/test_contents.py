"""Trained folders as contents of the report page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mshgnn.errors import UserError
from mshgnn.predictor.contents import subject_of_model
from mshgnn.predictor.shown import load_shown
from mshgnn.predictor.train import train
from mshgnn.report.page.drawing import unpack
from support.own_data import Silent, config, molecules, nodes, shapes

pytestmark = pytest.mark.usefixtures("reference_backend")
HARMONIC = {"name": "msh-stable", "hidden_channels": 8, "num_layers": 2, "num_projections": 4}


@pytest.fixture(scope="module")
def harmonic(tmp_path_factory: pytest.TempPathFactory, reference_backend: None) -> Path:
    """A model of classes with harmonic layers, three folds."""
    pytest.importorskip("rdkit")
    folder = tmp_path_factory.mktemp("harmonic")
    asked = config(molecules(folder / "m.csv"), "kind", model=HARMONIC, folds=3, controls=True)
    train(asked, folder / "model", Silent())
    return folder / "model"


def test_a_folder_gives_figures_curves_rules_and_items(harmonic: Path) -> None:
    subject = subject_of_model(harmonic)
    assert (subject.model, subject.dataset, subject.metric_name) == ("msh-stable", "m.csv", "accuracy")
    assert [control.name for control in subject.controls] == ["majority", "Morgan forest"]
    assert len(subject.folds) == 3
    assert subject.items is not None
    assert len(subject.items) == 60
    accuracy = [
        float(np.mean(subject.items.values[at].argmax(axis=1) == subject.items.truth[at, 0]))
        for fold in range(3)
        for at in [np.array(subject.items.folds) == fold]
    ]
    assert subject.headline.per_fold == pytest.approx(accuracy)
    assert subject.rules["best_validation"].per_fold == pytest.approx(subject.headline.per_fold)
    assert (harmonic / "report.html").stat().st_size > 50_000


def test_test_items_are_drawn_as_molecules_with_weights_on_their_edges(harmonic: Path) -> None:
    shown = load_shown(harmonic)
    assert shown is not None
    assert len(shown.items) == len(shown.drawings) == len(shown.components) == 60
    assert [len(response.mean) for response in shown.responses] == [3, 3]
    assert all(sum(response.mean) == pytest.approx(1, abs=1e-3) for response in shown.responses)
    assert shown.weights_are == "the strength of their harmonic messages"
    for weighted in shown.weighted:
        text = shown.drawings[weighted.item]
        assert text is not None
        assert {len(layer) for layer in weighted.layers} == {len(unpack(text).edges)}


def test_a_frequency_readout_gives_its_gate(tmp_path: Path) -> None:
    model = {**HARMONIC, "readout": "frequency"}
    train(config(shapes(tmp_path / "s.jsonl"), model=model), tmp_path / "model", Silent())
    shown = load_shown(tmp_path / "model")
    assert shown is not None
    assert shown.weights_are == "the readout's gate α"
    assert shown.vocabulary == ("a", "b")


def test_a_node_is_drawn_with_its_neighbours(tmp_path: Path) -> None:
    train(config(nodes(tmp_path / "n"), "label"), tmp_path / "model", Silent())
    shown = load_shown(tmp_path / "model")
    assert shown is not None
    drawing = unpack(str(shown.drawings[0]))
    assert (len(drawing.places), len(drawing.edges), drawing.centre) == (3, 2, 0)
    assert shown.responses == ()


def test_new_data_have_distances_and_unreadable_rows_are_counted(harmonic: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCO\nnonsense\nCCCC\n")
    found = subject_of_model(harmonic, new).new_data
    assert found is not None
    assert (found.rows, found.failed, len(found.distances)) == ((0, 2), 1, 2)
    assert set(found.predictions) <= {"alcohol", "alkane"}


def test_an_older_folder_has_less_and_a_damaged_one_is_refused(harmonic: Path, tmp_path: Path) -> None:
    import shutil

    old = tmp_path / "old"
    shutil.copytree(harmonic, old)
    (old / "shown.json.gz").unlink()
    for path in old.glob("model_*/curves.json"):
        path.unlink()
    subject = subject_of_model(old)
    assert (subject.shown, dict(subject.rules)) == (None, {})
    assert set(subject.folds[0].series) == {"train_loss", "validation_metric"}
    splits = (old / "splits.json").read_text()
    for wrong in ("{", "[]", '[{"train": [0]}]', "[1]"):
        (old / "splits.json").write_text(wrong)
        with pytest.raises(UserError, match=r"splits\.json is damaged"):
            subject_of_model(old)
    (old / "splits.json").write_text(splits)
    (old / "shown.json.gz").write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"shown\.json\.gz is damaged"):
        subject_of_model(old)
    metrics = json.loads((old / "metrics.json").read_text())
    missing = {"metric": "accuracy"}
    odd = ({"controls": [1]}, {"controls": {"a": {"per_fold": ["x"]}}}, {"environment": 3})
    for damaged in (missing, metrics | {"per_fold": [10**400]}, *(metrics | wrong for wrong in odd)):
        (old / "metrics.json").write_text(json.dumps(damaged))
        with pytest.raises(UserError, match=r"metrics\.json is damaged"):
            subject_of_model(old)
    (old / "metrics.json").write_text(json.dumps(metrics))
    report = json.loads((old / "model_0" / "fold.json").read_text())
    for epoch in (0, 99, 1.5, 10**400):
        (old / "model_0" / "fold.json").write_text(json.dumps(report | {"chosen_epoch": epoch}))
        with pytest.raises(UserError, match=r"fold\.json is damaged"):
            subject_of_model(old)
