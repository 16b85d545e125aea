from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
import pytest
import torch

from mshgnn.errors import UserError
from mshgnn.predictor.config import load_config
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.fold import TrainingFailed
from mshgnn.predictor.predict import predict_file
from mshgnn.predictor.train import train
from mshgnn.training import checkpoint
from mshgnn.training.loop import EpochReport
from support.own_data import Silent, config, molecules, nodes, shapes, table

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


def test_a_training_leaves_everything_that_was_promised(tmp_path: Path) -> None:
    watcher = Silent()
    summary = train(config(molecules(tmp_path / "m.csv"), "logp", controls=True), tmp_path / "model", watcher)
    assert "task: graph regress: number logp; metric rmse; split random 48/6/6" in watcher.said[0]
    assert [line.name for line in summary.lines] == ["gine", "mean", "Morgan forest"]
    names = {path.name for path in (tmp_path / "model").iterdir()}
    expected = {"config.yaml", "splits.json", "metrics.json", "schema.json", "test_predictions.csv", "history.csv"}
    assert expected | {"report.html", "calibration.json", "shown.json.gz", "model_0"} == names
    assert len(table(tmp_path / "model" / "history.csv")) == 3
    page = (tmp_path / "model" / "report.html").read_text()
    assert "Morgan forest" in page
    assert "Learning curves" in page
    assert page.count("http") == page.count("http://www.w3.org/2000/svg") == 1  # the name of SVG, no address


def test_the_reported_metric_is_that_of_the_predictions_written(tmp_path: Path) -> None:
    train(config(molecules(tmp_path / "m.csv"), "logp"), tmp_path / "model", Silent())
    rows = table(tmp_path / "model" / "test_predictions.csv")
    errors = [float(row["logp_true"]) - float(row["logp"]) for row in rows]
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert metrics["mean"] == pytest.approx(math.sqrt(sum(e * e for e in errors) / len(errors)), rel=1e-5)
    assert "best on validation" in metrics["rule"]
    splits = json.loads((tmp_path / "model" / "splits.json").read_text())
    assert [int(row["row"]) for row in rows] == splits[0]["test"]
    source = table(tmp_path / "m.csv")
    assert float(rows[0]["logp_true"]) == pytest.approx(float(source[splits[0]["test"][0]]["logp"]))


def test_the_schema_is_of_the_training_part_alone(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    train(config(data, "logp"), tmp_path / "model", Silent())
    train_rows = json.loads((tmp_path / "model" / "splits.json").read_text())[0]["train"]
    values = torch.tensor([float(table(data)[row]["logp"]) for row in train_rows])
    schema = json.loads((tmp_path / "model" / "model_0" / "schema.json").read_text())
    assert schema["target_mean"][0] == pytest.approx(float(values.mean()), rel=1e-5)
    assert schema["target_std"][0] == pytest.approx(float(values.std()), rel=1e-5)


def test_a_saved_config_runs_again_to_the_same_weights(tmp_path: Path) -> None:
    train(config(molecules(tmp_path / "m.csv"), "kind"), tmp_path / "one", Silent())
    train(load_config(tmp_path / "one" / "config.yaml"), tmp_path / "two", Silent())
    first, second = (tmp_path / name / "model_0" / "model.safetensors" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_an_ensemble_tests_every_row_once_and_does_not_train_a_finished_fold_again(tmp_path: Path) -> None:
    asked = config(molecules(tmp_path / "m.csv"), "logp", folds=3)
    interrupted = Silent(stop_after=2)
    assert train(asked, tmp_path / "model", interrupted).interrupted
    assert (interrupted.begun, len(Ensemble.load(tmp_path / "model").members)) == ([0], 1)
    first, second = Silent(), Silent()
    summary = train(asked, tmp_path / "model", first)
    assert (first.begun, summary.interrupted) == ([0, 1, 2], False)
    train(asked, tmp_path / "model", second)
    assert second.begun == []
    rows = [int(row["row"]) for row in table(tmp_path / "model" / "test_predictions.csv")]
    assert sorted(rows) == list(range(60))
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert len(metrics["per_fold"]) == 3
    assert metrics["spread_is"] == "standard deviation over 3 folds"


def test_ctrl_c_leaves_a_model_that_can_be_loaded(tmp_path: Path) -> None:
    summary = train(config(molecules(tmp_path / "m.csv"), "logp"), tmp_path / "model", Silent(stop_after=2))
    assert summary.interrupted
    assert json.loads((tmp_path / "model" / "metrics.json").read_text())["interrupted"]
    assert len(Ensemble.load(tmp_path / "model").members) == 1


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])  # Ctrl-C, and an end that nobody catches
def test_a_fold_goes_on_where_it_was_stopped_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)

    class Stopping(Silent):
        seen: ClassVar[list[int]] = []

        def _see(self, report: EpochReport) -> None:
            if not report.restored:
                self.seen.append(report.epoch)
                if report.epoch == self.stop_after:
                    raise stop

    asked = config(molecules(tmp_path / "m.csv"), "logp", epochs=5)
    train(asked, tmp_path / "whole", Silent())
    if stop is KeyboardInterrupt:
        assert train(asked, tmp_path / "model", Stopping(stop_after=3)).interrupted
        assert len(Ensemble.load(tmp_path / "model").members) == 1
    else:
        with pytest.raises(stop):
            train(asked, tmp_path / "model", Stopping(stop_after=3))
    assert not train(asked, tmp_path / "model", Stopping()).interrupted
    assert Stopping.seen == [1, 2, 3, 4, 5], "no epoch is trained twice"
    for name in ("model_0/model.safetensors", "model_0/curves.json", "history.csv", "test_predictions.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()
    assert not (tmp_path / "model" / "model_0" / "checkpoint.safetensors").exists()


@pytest.mark.parametrize("gone", ["", "schema.json"])
def test_a_folder_removed_in_the_middle_ends_the_training(tmp_path: Path, gone: str) -> None:
    folder = tmp_path / "model"

    class Removing(Silent):
        def _see(self, report: EpochReport) -> None:
            if report.epoch == 2:
                (folder / gone).unlink() if gone else shutil.rmtree(folder)

    with pytest.raises(
        TrainingFailed, match=r"model: was removed or changed while the training went on; lost: .*schema"
    ):
        train(config(molecules(tmp_path / "m.csv"), "logp"), folder, Removing())


def test_ctrl_c_before_the_first_epoch_leaves_no_model(tmp_path: Path) -> None:
    class Hasty(Silent):
        def begin(self, fold: int, folds: int, todo: int) -> NoReturn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config(molecules(tmp_path / "m.csv"), "logp"), tmp_path / "model", Hasty())
    with pytest.raises(UserError, match="no member is trained yet"):
        Ensemble.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (("kind",), "graph classify: class of 2 (alcohol, alkane) kind; metric accuracy; split stratified"),
        (("toxic", "soluble"), "graph multilabel: 0/1 labels toxic, soluble; metric roc_auc; split random"),
    ],
)
def test_the_task_is_inferred_and_said(tmp_path: Path, targets: tuple[str, ...], said: str) -> None:
    watcher = Silent()
    train(config(molecules(tmp_path / "m.csv"), *targets, controls=True), tmp_path / "model", watcher)
    assert said in watcher.said[0]


def test_graphs_of_jsonl_and_nodes_of_tables_are_trained(tmp_path: Path) -> None:
    train(config(shapes(tmp_path / "s.jsonl"), model={"name": "gcn", "hidden_channels": 8}), tmp_path / "a", Silent())
    watcher = Silent()
    train(config(nodes(tmp_path / "graph"), model={"name": "gcn", "hidden_channels": 8}), tmp_path / "b", watcher)
    assert "task: node classify: class of 2 (big, small) label" in watcher.said[0]


def test_rare_classes_are_weighted_when_asked(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    weights = []
    for name in ("none", "balanced"):
        train(config(data, "kind", training={"class_weights": name}), tmp_path / name, Silent())
        weights.append((tmp_path / name / "model_0" / "model.safetensors").read_bytes())
    assert weights[0] != weights[1]


def test_rows_count_by_their_weight_when_asked(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0] + ",w", *(f"{line},{row % 4}" for row, line in enumerate(lines[1:]))]) + "\n")
    weights = []
    for column in (None, "w"):
        train(config(data, "logp", weight_column=column), tmp_path / str(column), Silent())
        weights.append((tmp_path / str(column) / "model_0" / "model.safetensors").read_bytes())
    assert weights[0] != weights[1]
    (tmp_path / "g").mkdir()
    with pytest.raises(UserError, match="the option weight w: a file of this kind has no use for it"):
        train(config(shapes(tmp_path / "g" / "s.jsonl"), weight_column="w"), tmp_path / "j", Silent())


def test_a_folder_of_another_training_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = molecules(tmp_path / "m.csv")
    train(config(data, "logp"), tmp_path / "model", Silent())
    with pytest.raises(UserError, match=r"holds another training \(training.epochs was 3, is now 4\)"):
        train(config(data, "logp", epochs=4), tmp_path / "model", Silent())
    molecules(data, seed=1)
    with pytest.raises(UserError, match="or the defaults changed"):
        train(config(data, "logp"), tmp_path / "model", Silent())
    molecules(data)
    train(config(data, "logp"), tmp_path / "model", Silent())  # all is there
    monkeypatch.setattr("mshgnn.predictor.train.NUMBERS_VERSION", 1_000)
    with pytest.raises(UserError, match="or the defaults changed"):
        train(config(data, "logp"), tmp_path / "model", Silent())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("dear")
    with pytest.raises(UserError, match="is not empty and no model"):
        train(config(data, "logp"), tmp_path / "full", Silent())


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        ("", "y", "line 1: there is no header; the file is empty"),
        ("smiles,y\n", "y", "there are no molecules"),
        ("smiles,y\nCC,1.5\n", "z", "line 1: no column 'z'; columns are smiles, y"),
        ("smiles,y,y\nCC,1.5,2\n", "y", "line 1: column 'y' is there twice"),
        ("smiles,y\nCC,1.5\nC", "y", "line 3: 1 cells, the header has 2"),
        ("smiles,y\nCC,1.5\nC,1e99\n", "y", "line 3: column 'y': "),
        ("smiles,y\nCC,1.5\n", "y", "are too few for 10 parts"),
        ("smiles,y\n" + "CC,1\n" * 20, "y", "every target is of one class: there is nothing to tell apart"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, content: str, target: str, message: str) -> None:
    (tmp_path / "m.csv").write_text(content)
    with pytest.raises(UserError, match=message.replace("(", r"\(")) as caught:
        train(config(tmp_path / "m.csv", target), tmp_path / "model", Silent())
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_a_target_asked_for_twice_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="target 'logp' is asked for twice"):
        train(config(molecules(tmp_path / "m.csv"), "logp", "logp"), tmp_path / "model", Silent())


def test_a_wrong_task_is_one_line(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    with pytest.raises(UserError, match="not a number"):
        train(config(data, "kind", objective="regress"), tmp_path / "model", Silent())
    with pytest.raises(UserError, match="unknown model 'gime'; did you mean 'gine'"):
        train(config(data, "logp", model={"name": "gime"}), tmp_path / "model", Silent())


def test_a_loss_that_is_no_number_is_failed_work(tmp_path: Path) -> None:
    rows = "".join(f"{'C' * (1 + row % 9)},{row}.5\n" for row in range(30))
    (tmp_path / "m.csv").write_text("smiles,y\n" + rows)
    wild = {"learning_rate": 1e30, "schedule": "none"}
    with pytest.raises(TrainingFailed, match="no number"):
        train(config(tmp_path / "m.csv", "y", training=wild), tmp_path / "model", Silent())


def test_a_graph_on_the_disk_is_trained_on_in_parts_and_predicted(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    folder, y = tmp_path / "graph", np.arange(120) % 2
    folder.mkdir()
    np.save(folder / "x.npy", (random.standard_normal((120, 3)) + y[:, None]).astype(np.float32))
    np.save(folder / "edge_index.npy", random.integers(120, size=(2, 400)))
    np.save(folder / "y.npy", y)
    training = {"batching": "neighbours", "nodes_per_step": 40}
    model = {"name": "msh-stable", "hidden_channels": 8, "num_layers": 2}
    train(config(folder, model=model, epochs=2, training=training), tmp_path / "model", Silent())
    kept = load_config(tmp_path / "model" / "config.yaml")
    assert kept.training.batching == "neighbours"
    assert kept.options["aggr"] == "sqrt_degree"
    written = predict_file(Ensemble.load(tmp_path / "model"), folder, tmp_path / "out.csv")
    assert (written.rows, written.failed) == (120, 0)
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header.startswith("node,")


def test_a_refused_training_does_not_block_the_corrected_one(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    with pytest.raises(UserError, match="is for classes"):
        train(config(data, "logp", training={"class_weights": "balanced"}), tmp_path / "model", Silent())
    train(config(data, "logp", epochs=1), tmp_path / "model", Silent())
    with pytest.raises(UserError, match="holds another training"):  # which has weights now
        train(config(data, "logp", epochs=2), tmp_path / "model", Silent())


def test_a_training_that_failed_does_not_block_one_with_a_smaller_rate(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    wild = {"learning_rate": 1e30, "schedule": "none"}
    with pytest.raises(TrainingFailed, match="no number"):
        train(config(data, "logp", training=wild), tmp_path / "model", Silent())
    train(config(data, "logp", epochs=1), tmp_path / "model", Silent())


def test_a_config_of_the_users_own_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    mine = f"# mine\ndata: {tmp_path / 'other.csv'}\n"
    (tmp_path / "model" / "config.yaml").write_text(mine)
    with pytest.raises(UserError, match="holds another training"):
        train(config(molecules(tmp_path / "m.csv"), "logp", epochs=1), tmp_path / "model", Silent())
    assert (tmp_path / "model" / "config.yaml").read_text() == mine


def test_a_saved_config_runs_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    molecules(tmp_path / "m.csv")
    parts = {"train": "0-39", "val": "40-49", "test": "50-59"}
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    monkeypatch.chdir(tmp_path)
    asked = config(Path("m.csv"), "logp", split="file", split_file="parts.json", epochs=1)
    train(asked, tmp_path / "model", Silent())
    again = Silent()
    train(asked, tmp_path / "model", again)  # the same files, named as before
    assert again.begun == []
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    saved = load_config(tmp_path / "model" / "config.yaml")
    assert (saved.data, saved.split_file) == (str(tmp_path / "m.csv"), str(tmp_path / "parts.json"))
    train(saved, tmp_path / "again", Silent())
    first, second = (tmp_path / name / "model_0" / "model.safetensors" for name in ("model", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_labels_that_only_new_graphs_have_are_taken_or_refused(tmp_path: Path) -> None:
    data = shapes(tmp_path / "s.jsonl")
    (tmp_path / "new.jsonl").write_text(
        '{"edges": [[0, 1]], "node_labels": ["a", "b"]}\n{"edges": [[0, 1]], "node_labels": ["a", "zinc"]}\n'
    )
    status = {}
    for unseen in ("other", "error"):
        model = {"name": "gcn", "hidden_channels": 8}
        train(config(data, model=model, epochs=1, unseen=unseen), tmp_path / unseen, Silent())
        predict_file(Ensemble.load(tmp_path / unseen), tmp_path / "new.jsonl", tmp_path / "out.csv")
        status[unseen] = [row["status"] for row in table(tmp_path / "out.csv")]
    assert status["other"] == ["ok", "ok"]
    assert status["error"][0] == "ok"
    assert "line 2: node label 'zinc' was not in the training data" in status["error"][1]


def test_every_row_that_was_left_out_is_kept_with_its_reason(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    lines = data.read_text().splitlines()
    lines[3], lines[9] = "bad,xx,1.0,alkane,0,", "short"
    data.write_text("\n".join(lines) + "\n")
    train(config(data, "logp", on_error="skip", epochs=1), tmp_path / "model", Silent())
    found = table(tmp_path / "model" / "left_out.csv")
    assert [row["row"] for row in found] == ["2", "8"]
    assert "line 4: column 'smiles': not a molecule: 'xx'" in found[0]["reason"]
    assert "line 10: 1 cells, the header has 6" in found[1]["reason"]


def test_folds_beside_a_split_column_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{'C' * (1 + row)},{row}.5,{['train', 'train', 'val', 'test'][row % 4]}\n" for row in range(16))
    (tmp_path / "m.csv").write_text("smiles,y,split\n" + rows)
    with pytest.raises(
        UserError, match=r"m\.csv: its split column says itself .*; leave folds out, or say split random"
    ):
        train(config(tmp_path / "m.csv", "y", folds=3, epochs=1), tmp_path / "model", Silent())
    train(config(tmp_path / "m.csv", "y", folds=3, epochs=1, split="random"), tmp_path / "model", Silent())
    assert len(Ensemble.load(tmp_path / "model").members) == 3


def test_a_target_that_the_training_part_lacks_is_said(tmp_path: Path) -> None:
    parts = ["train"] * 6 + ["val", "val", "test", "test"]
    rows = "".join(
        f"{'C' * (1 + row)},{row}.5,{'' if part == 'train' else row},{part}\n" for row, part in enumerate(parts)
    )
    (tmp_path / "m.csv").write_text("smiles,a,b,split\n" + rows)
    heard = Silent()
    train(config(tmp_path / "m.csv", "a", "b", epochs=1), tmp_path / "model", heard)
    assert "no training item has a value of b: what is predicted for it means nothing" in heard.said


def test_too_few_items_are_said_with_their_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\nCC,1.5\n")
    with pytest.raises(UserError, match=r"/m\.csv: 1 graphs with a target are too few for 10 parts"):
        train(config(tmp_path / "m.csv", "y"), tmp_path / "model", Silent())
