from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.evaluate import evaluate_file
from mshgnn.predictor.fold import load_curves
from mshgnn.predictor.train import train
from support.own_data import Silent, config, molecules, table

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


@pytest.mark.parametrize("metric", ["rmse", "mae", "mse", "log10_mse", "r2"])
def test_validation_is_measured_in_the_units_of_the_file(tmp_path: Path, metric: str) -> None:
    data, folder = molecules(tmp_path / "m.csv"), tmp_path / "model"
    lines = data.read_text().splitlines()
    train(config(data, "logp", metric=metric, epochs=2), folder, Silent())
    (parts,) = json.loads((folder / "splits.json").read_text())
    (tmp_path / "val.csv").write_text("\n".join([lines[0], *(lines[1 + row] for row in parts["val"])]) + "\n")
    measured = evaluate_file(Ensemble.load(folder), tmp_path / "val.csv").metrics[metric]
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    assert found["validation"] == [pytest.approx(measured, rel=1e-3)]
    assert found["validation_is"] == "in the units of the test metric"
    chosen = [row for row in table(folder / "history.csv") if row["chosen"] == "1"]
    assert float(chosen[0][f"validation_{metric}"]) == pytest.approx(measured, rel=1e-3)
    curves = load_curves(folder / "model_0")
    assert curves is not None
    assert curves.test_metric[int(chosen[0]["epoch"]) - 1] == pytest.approx(found["mean"], rel=1e-3)


def test_a_mean_over_several_targets_says_that_it_is_in_deviations(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    asked = config(molecules(tmp_path / "m.csv"), "logp", "toxic", objective="regress", epochs=1)
    train(asked, folder, Silent())
    said = json.loads((folder / "metrics.json").read_text())["validation_is"]
    assert said.startswith("of each target in deviations of its training part")
    assert "validation_rmse_in_deviations" in table(folder / "history.csv")[0]
