"""Each of several targets in everything that shows a metric: files, page, ``evaluate``."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from mshgnn.errors import UserError
from mshgnn.predictor.contents import subject_of_model
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.evaluate import evaluate_file
from mshgnn.predictor.train import train
from support.own_data import Silent, config, molecules

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


def labels(path: Path, rows: int = 60) -> Path:
    """Two labels with blanks, and one that is 1 in a single row."""
    draw = random.Random(0)
    lines = ["smiles,ring,oxygen,rare"]
    for row in range(rows):
        text = "C" * draw.randint(1, 6) + "O" * (row % 2) + "c1ccccc1" * (row % 3 == 0)
        lines.append(f"{text},{int(row % 3 == 0)},{'' if row % 4 == 0 else row % 2},{int(row == 7)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    with (folder / "test_predictions.csv").open() as file:
        return json.loads((folder / "metrics.json").read_text()), list(csv.DictReader(file))


def test_numbers_are_measured_in_units_of_each_target_in_every_fold(tmp_path: Path) -> None:
    data, folder = molecules(tmp_path / "m.csv"), tmp_path / "model"
    asked = config(data, "logp", "toxic", "soluble", objective="regress", metric="mae", folds=3, controls=True)
    summary = train(asked, folder, Silent())
    metrics, rows = read(folder)
    assert list(metrics["targets"]) == ["logp", "toxic", "soluble"]
    by_fold = []
    for name, figures in metrics["targets"].items():
        errors: list[list[float]] = [[], [], []]
        for row in rows:
            if row[f"{name}_true"]:
                errors[int(row["fold"])].append(abs(float(row[name]) - float(row[f"{name}_true"])))
        assert figures["known"] == [len(fold) for fold in errors]
        assert figures["per_fold"] == pytest.approx([np.mean(fold) for fold in errors], rel=1e-4)
        assert figures["mean"] == pytest.approx(np.mean(figures["per_fold"]))
        assert figures["spread"] == pytest.approx(np.std(figures["per_fold"]))
        by_fold.append(figures["per_fold"])
    assert metrics["per_fold"] == pytest.approx(np.mean(by_fold, axis=0))
    assert [list(figures["targets"]) for figures in metrics["controls"].values()] == [["logp", "toxic", "soluble"]] * 2
    subject = subject_of_model(folder)
    assert (subject.headline, *subject.controls) == summary.lines, "the page is told what the training found"
    assert "Test MAE target by target" in (folder / "report.html").read_text()


def test_a_label_of_one_class_in_the_test_part_is_not_defined(tmp_path: Path) -> None:
    data, folder = labels(tmp_path / "m.csv"), tmp_path / "model"
    train(config(data, "ring", "oxygen", "rare", folds=3), folder, Silent())
    metrics, rows = read(folder)
    for name, figures in metrics["targets"].items():
        for fold in range(3):
            known = [row for row in rows if row["fold"] == str(fold) and row[f"{name}_true"]]
            truth = [float(row[f"{name}_true"]) for row in known]
            assert figures["known"][fold] == len(truth)
            if len(set(truth)) == 2:
                expected = roc_auc_score(truth, [float(row[f"{name}_prob"]) for row in known])
                assert figures["per_fold"][fold] == pytest.approx(expected)
            else:
                assert figures["per_fold"][fold] is None
    rare = metrics["targets"]["rare"]
    (defined,) = [value for value in rare["per_fold"] if value is not None]
    assert (rare["mean"], rare["spread"]) == (defined, None)
    assert "(1 of 3 folds)" in (folder / "report.html").read_text()
    lines = data.read_text().splitlines()
    (tmp_path / "some.csv").write_text("\n".join([lines[0], *lines[9:]]) + "\n")
    found = evaluate_file(Ensemble.load(folder), tmp_path / "some.csv")
    assert [line.name for line in found.measured] == ["roc_auc", "average_precision"]
    for line in found.measured:
        ring, oxygen, without = line.targets
        assert (ring.known, oxygen.known, without.known) == ((52,), (39,), (52,))
        assert without.per_fold == (None,)
        assert line.mean == pytest.approx(np.mean([ring.per_fold[0] or 0, oxygen.per_fold[0] or 0]))


def test_one_target_is_its_own_mean_and_older_folders_have_no_targets(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    train(config(molecules(tmp_path / "m.csv"), "toxic", "soluble", controls=True), folder, Silent())
    metrics, _ = read(folder)
    metrics["targets"]["toxic"]["known"] = 3
    (folder / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(UserError, match=r"metrics\.json is damaged"):
        subject_of_model(folder)
    del metrics["targets"]
    (folder / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(UserError, match="model and controls have different targets"):
        subject_of_model(folder)
    for figures in metrics["controls"].values():
        del figures["targets"]
    (folder / "metrics.json").write_text(json.dumps(metrics))
    assert subject_of_model(folder).headline.targets == ()
    train(config(tmp_path / "m.csv", "logp"), tmp_path / "one", Silent())
    assert "targets" not in read(tmp_path / "one")[0]
    assert "target by target" not in (tmp_path / "one" / "report.html").read_text()
