from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mshgnn.errors import UserError
from mshgnn.predictor.config import TrainConfig, load_config
from mshgnn.predictor.train import train
from mshgnn.predictor.tune import seconds_of, tune
from mshgnn.training.curves import Curves
from mshgnn.training.loop import train_fold
from support.own_data import Silent, config, molecules

pytestmark = pytest.mark.usefixtures("reference_backend")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1.5h", 5400)])
def test_budgets(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["30", "m", "-3m", "0s", "3 days"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="must look like 90s, 30m or 2h"):
        seconds_of(text)


def test_the_result_is_a_config_that_train_takes_and_trials_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    asked = config(molecules(tmp_path / "m.csv"), "logp", epochs=2, model={"name": "gcn", "num_layers": 2})
    said: list[str] = []
    first = tune(asked, tmp_path / "tuned.yaml", 4, said.append)
    assert first.best <= first.first  # RMSE: the first trial is what was asked for
    again = tune(asked, tmp_path / "tuned.yaml", 1, said.append)
    assert again.trials > first.trials
    assert f"{first.trials} trials are there already" in said
    tuned = load_config(tmp_path / "tuned.yaml")
    assert tuned == again.config
    train(tuned, tmp_path / "model", Silent())


def test_what_was_asked_for_is_the_first_trial_and_kept_where_it_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    tried: list[TrainConfig] = []

    def noted(config: TrainConfig, *arguments: Any, **named: Any) -> float:
        tried.append(config)
        return float(len(tried))  # an error: the first is the best

    monkeypatch.setattr("mshgnn.predictor.tune._validated", noted)
    model = {"name": "gcn", "num_layers": 1, "hidden_channels": 24, "dropout": 0.6}
    training = {"learning_rate": 0.03, "batch_size": 8}
    asked = config(molecules(tmp_path / "m.csv"), "logp", model=model, training=training, folds=3)
    found = tune(asked, tmp_path / "tuned.yaml", 1, lambda line: None)
    assert model.items() <= tried[0].model.items()
    assert (tried[0].training.learning_rate, tried[0].training.batch_size) == (0.03, 8)
    assert (found.config.folds, load_config(tmp_path / "tuned.yaml").folds) == (3, 3)
    numbers = [float(line.split(",")[2]) for line in (tmp_path / "m.csv").read_text().splitlines()[1:]]
    assert found.first == pytest.approx(np.std(numbers), rel=0.3)  # 1 deviation, in the units of the file


def test_the_test_part_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    seen: list[int] = []

    def watched(*arguments: Any, **named: Any) -> Curves:
        seen.append(len(arguments[2].test))
        return train_fold(*arguments, **named)

    monkeypatch.setattr("mshgnn.predictor.tune.train_fold", watched)
    tune(config(molecules(tmp_path / "m.csv"), "logp", epochs=1), tmp_path / "tuned.yaml", 1, lambda line: None)
    assert set(seen) == {0}


def test_what_lies_beside_the_result_is_refused_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    asked = config(molecules(tmp_path / "m.csv"), "logp", epochs=1)
    (tmp_path / "tuned.db").write_text("a thesis, not trials" * 200)
    with sqlite3.connect(tmp_path / "foreign.db") as database:
        database.execute("CREATE TABLE birds (name TEXT)")
    (tmp_path / "folder.db").mkdir()
    for name in ("tuned", "foreign", "folder"):
        with pytest.raises(UserError, match=rf"{name}\.db: is not a database of trials") as caught:
            tune(asked, tmp_path / f"{name}.yaml", 1, lambda line: None)
        assert "\n" not in str(caught.value)
    with sqlite3.connect(tmp_path / "foreign.db") as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("birds",)]
    with pytest.raises(UserError, match="is a folder; name a file"):
        tune(asked, tmp_path, 1, lambda line: None)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        tune(asked, tmp_path / "file" / "tuned.yaml", 1, lambda line: None)


def test_folds_beside_a_split_column_are_refused_before_the_search(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    rows = "".join(f"{'C' * (1 + row)},{row}.5,{['train', 'train', 'val', 'test'][row % 4]}\n" for row in range(16))
    (tmp_path / "m.csv").write_text("smiles,y,split\n" + rows)
    with pytest.raises(UserError, match="its split column says itself"):
        tune(config(tmp_path / "m.csv", "y", folds=3, epochs=1), tmp_path / "tuned.yaml", 1, lambda line: None)


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("rdkit")
    asked = config(molecules(tmp_path / "m.csv"), "logp", epochs=1)
    tune(asked, tmp_path / "new" / "tuned.yaml", 1, lambda line: None)
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"tuned.yaml", "tuned.db"}
