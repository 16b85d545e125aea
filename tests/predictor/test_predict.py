from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from mshgnn.data import DataError
from mshgnn.errors import UserError
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.evaluate import evaluate_file
from mshgnn.predictor.output import check_out
from mshgnn.predictor.predict import PredictionFailed, predict_file, predicted
from mshgnn.predictor.train import train
from support.own_data import Silent, config, endless_rows, molecules, nodes, shapes, table

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("reference_backend")


GCN = {"name": "gcn", "hidden_channels": 8}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble of three for numbers."""
    folder = tmp_path_factory.mktemp("trained")
    data = molecules(folder / "m.csv", rows=90)
    train(config(data, "logp", folds=3, epochs=5), folder / "model", Silent())
    return folder / "model"


def test_all_columns_are_kept_and_every_row_has_one_row(trained: Path, tmp_path: Path) -> None:
    data = molecules(tmp_path / "new.csv", rows=7, seed=1)
    predict_file(Ensemble.load(trained), data, tmp_path / "out.csv")
    rows = table(tmp_path / "out.csv")
    added = ["logp_predicted", "logp_std", "logp_low", "logp_high", "distance", "beyond_training", "status"]
    assert list(rows[0]) == ["name", "smiles", "logp", "kind", "toxic", "soluble", *added]
    assert [{key: row[key] for key in table(data)[0]} for row in rows] == table(data)
    for row in rows:
        low, value, high = (float(row[key]) for key in ("logp_low", "logp_predicted", "logp_high"))
        assert low < value < high
        assert row["status"] == "ok"


def test_targets_need_not_be_there(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nCCO\nCCCC\n")
    predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    assert list(table(tmp_path / "out.csv")[0])[:3] == ["smiles", "logp", "logp_std"]


def test_order_batches_and_a_new_process_change_nothing(trained: Path, tmp_path: Path) -> None:
    data = molecules(tmp_path / "new.csv", rows=30, seed=2)
    header, *lines = data.read_text().splitlines()
    shuffled = random.Random(0).sample(lines, len(lines))
    (tmp_path / "other.csv").write_text("\n".join([header, *shuffled]) + "\n")
    predict_file(Ensemble.load(trained), data, tmp_path / "a.csv", chunk=500)
    predict_file(Ensemble.load(trained), data, tmp_path / "b.csv", chunk=1)
    predict_file(Ensemble.load(trained), tmp_path / "other.csv", tmp_path / "c.csv", chunk=7)
    command = [sys.executable, "-m", "mshgnn", "predict", str(trained), str(data), "-o", str(tmp_path / "d.csv")]
    subprocess.run(command, check=True, capture_output=True)
    found = [{row["name"]: float(row["logp_predicted"]) for row in table(tmp_path / f"{name}.csv")} for name in "abcd"]
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        assert max(abs(other[key] - found[0][key]) for key in other) < 1e-5


def test_rows_that_cannot_be_read_say_why_and_the_others_are_predicted(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles,note\nCCO,a\nC(C,b\nCC\n,d\nCCC,e\n")
    written = predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv", chunk=2)
    assert (written.rows, written.failed) == (5, 3)
    rows = table(tmp_path / "out.csv")
    assert [row["note"] for row in rows] == ["a", "b", "", "d", "e"]
    assert "line 3: column 'smiles': not a molecule: 'C(C'" in rows[1]["status"]
    assert "line 4: 1 cells, the header has 2" in rows[2]["status"]
    assert [row["logp"] != "" for row in rows] == [True, False, False, False, True]
    with pytest.raises(DataError, match="line 3: column 'smiles': not a molecule"):
        predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "stop.csv", on_error="stop")
    assert not (tmp_path / "stop.csv").exists()


def test_a_file_without_one_good_row_is_failed_work(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nC(C\n")
    with pytest.raises(PredictionFailed, match="not one of 1 rows"):
        predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    (tmp_path / "new.csv").write_text("smiles\n")
    with pytest.raises(DataError, match="there are no rows"):
        predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    (tmp_path / "new.csv").write_text("mol\nCC\n")
    with pytest.raises(DataError, match="no column 'smiles'; columns are mol"):
        predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    assert list(tmp_path.glob("*.writing")) == []


def test_a_chunk_without_one_good_row_is_rows_with_their_status(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\n" + "".join(f"{'C' * (n + 1)},{'ab'[n % 2]}\n" for n in range(20)))
    train(config(tmp_path / "m.csv", "y", epochs=1), tmp_path / "model", Silent())
    (tmp_path / "new.csv").write_text("smiles\nC(C\nCC\n")
    written = predict_file(Ensemble.load(tmp_path / "model"), tmp_path / "new.csv", tmp_path / "out.csv", chunk=1)
    assert (written.rows, written.failed) == (2, 1)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


def test_a_users_own_file_is_never_written_over(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nCC\n")
    (tmp_path / "out.csv.writing").write_text("a thesis")
    predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv.writing").read_text() == "a thesis"
    assert (tmp_path / "out.csv").read_text().startswith("smiles,")


def test_no_more_rows_are_read_than_fit_a_chunk(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr("mshgnn.predictor.predict.stream_rows", endless_rows(taken))
    pieces = predicted(Ensemble.load(trained), Path("new.csv"), chunk=4)
    assert [len(next(pieces).rows) for _ in range(3)] == [4, 4, 4]
    assert len(taken) == 12


def test_what_is_far_from_the_training_data_is_flagged(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nCCCO\n[U+4].[Pu].FC(F)(F)S(=O)(=O)OB1OC2=NN=NC2=C1C#CBr\n")
    predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    near, far = table(tmp_path / "out.csv")
    assert float(near["distance"]) <= 1 < float(far["distance"])
    assert (near["beyond_training"], far["beyond_training"]) == ("0", "1")


def test_intervals_hold_their_share_of_new_values(trained: Path, tmp_path: Path) -> None:
    found = evaluate_file(Ensemble.load(trained), molecules(tmp_path / "new.csv", rows=300, seed=5))
    assert found.promised == 0.9
    assert found.held is not None
    assert found.held >= 0.86  # 300 values: two standard deviations below 0.9


def test_evaluate_measures_what_predict_writes(trained: Path, tmp_path: Path) -> None:
    data = molecules(tmp_path / "new.csv", rows=20, seed=3)
    predict_file(Ensemble.load(trained), data, tmp_path / "out.csv")
    errors = np.array([float(row["logp"]) - float(row["logp_predicted"]) for row in table(tmp_path / "out.csv")])
    metrics = evaluate_file(Ensemble.load(trained), data).metrics
    assert next(iter(metrics)) == "rmse"
    assert metrics["rmse"] == pytest.approx(float(np.sqrt(np.mean(errors**2))), rel=1e-5)
    assert metrics["mae"] == pytest.approx(float(np.mean(np.abs(errors))), rel=1e-5)
    (tmp_path / "no.csv").write_text("smiles\nCC\n")
    with pytest.raises(DataError, match="no column 'logp' to compare with; columns are smiles"):
        evaluate_file(Ensemble.load(trained), tmp_path / "no.csv")


def test_classes_have_probabilities_and_an_unseen_one_is_refused(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    train(config(data, "kind"), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    predict_file(model, data, tmp_path / "out.csv")
    for row in table(tmp_path / "out.csv"):
        shares = {name: float(row[f"kind_prob_{name}"]) for name in ("alcohol", "alkane")}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert row["kind_predicted"] == max(shares, key=lambda name: shares[name])
        assert float(row["kind_prob"]) == max(shares.values())
    (tmp_path / "new.csv").write_text("smiles,kind\nCC,alkane\nCCN,amine\n")
    with pytest.raises(DataError, match=r"line 3: column 'kind': class 'amine' was not in the training data"):
        evaluate_file(model, tmp_path / "new.csv")
    found = evaluate_file(model, tmp_path / "new.csv", on_error="skip")
    assert (found.items, found.failed) == (1, 1)


def test_rows_with_a_bad_target_count_as_unread_where_that_is_wished(trained: Path, tmp_path: Path) -> None:
    model, data = Ensemble.load(trained), molecules(tmp_path / "new.csv", rows=20, seed=3)
    header, *lines = data.read_text().splitlines()
    bad = [lines[0].replace(lines[0].split(",")[2], "oops"), "x,C1CC,0.5,alkane,0,", *lines[2:]]
    (tmp_path / "bad.csv").write_text("\n".join([header, *bad]) + "\n")
    (tmp_path / "good.csv").write_text("\n".join([header, *lines[2:]]) + "\n")
    with pytest.raises(DataError, match="line 3: column 'smiles': not a molecule"):
        evaluate_file(model, tmp_path / "bad.csv")
    found = evaluate_file(model, tmp_path / "bad.csv", on_error="skip")
    assert (found.items, found.failed) == (18, 2)
    assert found.first_problem.endswith("bad.csv: line 2: column 'logp': not a number: 'oops'")
    assert found.metrics == pytest.approx(evaluate_file(model, tmp_path / "good.csv").metrics, rel=1e-5)
    written = predict_file(model, tmp_path / "bad.csv", tmp_path / "out.csv")
    assert (written.rows, written.failed) == (20, 1)  # a target is not needed to predict
    (tmp_path / "bad.csv").write_text(f"{header}\n{bad[0]}\n")
    with pytest.raises(DataError, match=r"every target is blank, or cannot be read: .*'oops'"):
        evaluate_file(model, tmp_path / "bad.csv", on_error="skip")


def test_labels_with_blanks(tmp_path: Path) -> None:
    data = molecules(tmp_path / "m.csv")
    train(config(data, "toxic", "soluble"), tmp_path / "model", Silent())
    predict_file(Ensemble.load(tmp_path / "model"), data, tmp_path / "out.csv")
    row = table(tmp_path / "out.csv")[0]
    assert row["toxic_predicted"] == str(int(float(row["toxic_prob"]) > 0.5))
    assert set(evaluate_file(Ensemble.load(tmp_path / "model"), data).metrics) == {"roc_auc", "average_precision"}


def test_graphs_of_a_jsonl_with_an_unknown_label_and_another_width(tmp_path: Path) -> None:
    train(config(shapes(tmp_path / "s.jsonl"), model={"name": "gcn", "hidden_channels": 8}), tmp_path / "m", Silent())
    lines = [
        {"edges": [[0, 1]], "node_labels": ["a", "zinc"]},
        {"edges": [[0, 1]], "node_features": [[1.0], [2.0]]},
        {"edges": [[0, 5]], "node_labels": ["a", "b"]},
        {"edges": [], "node_labels": ["b"], "target": "ring"},
    ]
    (tmp_path / "new.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + '\n{"edges": [[0,')
    written = predict_file(Ensemble.load(tmp_path / "m"), tmp_path / "new.jsonl", tmp_path / "out.csv")
    status = [row["status"] for row in table(tmp_path / "out.csv")]
    assert (written.rows, status[0], status[3]) == (5, "ok", "ok")
    assert "line 2: no node_labels, which the model was trained on" in status[1]
    assert "line 3: edge 0 names unknown node 5" in status[2]
    assert "line 5: " in status[4]


def test_another_width_is_refused_with_its_line(tmp_path: Path) -> None:
    rows = [{"edges": [[0, 1]], "node_features": [[row, 1], [2, row]], "target": row % 2} for row in range(20)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    train(config(tmp_path / "s.jsonl", model={"name": "gcn", "hidden_channels": 8}), tmp_path / "m", Silent())
    (tmp_path / "new.jsonl").write_text(json.dumps({"edges": [], "node_features": [[1, 2, 3]]}))
    with pytest.raises(DataError, match="line 1: 3 node features, the model was trained on 2"):
        predict_file(Ensemble.load(tmp_path / "m"), tmp_path / "new.jsonl", tmp_path / "out.csv", on_error="stop")


def test_nodes_are_predicted_without_their_labels(tmp_path: Path) -> None:
    folder = nodes(tmp_path / "graph")
    train(config(folder, model={"name": "gcn", "hidden_channels": 8}, epochs=5), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    whole = evaluate_file(model, folder)
    assert whole.items == 40
    lines = [line.rpartition(",")[0] for line in (folder / "nodes.csv").read_text().splitlines()]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    predict_file(model, folder, tmp_path / "out.csv")
    assert list(table(tmp_path / "out.csv")[0])[:3] == ["id", "size", "label"]
    with pytest.raises(DataError, match=r"nodes\.csv: line 1: no column 'label' to compare with; columns are id, size"):
        evaluate_file(model, folder)
    with pytest.raises(DataError, match="the model was trained on nodes"):
        predict_file(model, molecules(tmp_path / "m.csv"), tmp_path / "out.csv")
    (folder / "nodes.csv").write_text("id,size\nn0,nan\n")
    (folder / "edges.csv").write_text("from,to\n")
    with pytest.raises(DataError, match="line 2: column 'size': not a number: 'nan'"):
        predict_file(model, folder, tmp_path / "out.csv")


def test_nodes_of_a_jsonl_are_predicted_with_and_without_their_targets(tmp_path: Path) -> None:
    graph = {"edges": [[n, n + 1] for n in range(29)], "node_features": [[n % 2, 1] for n in range(30)]}
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps({**graph, "node_targets": ["even", "odd"] * 15}))
    train(config(path, model={"name": "gcn", "hidden_channels": 8}), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    assert evaluate_file(model, path).items == 30
    path.write_text(json.dumps(graph))
    predict_file(model, path, tmp_path / "out.csv")
    rows = table(tmp_path / "out.csv")
    assert ([row["node"] for row in rows], set(rows[0]) >= {"target", "target_prob_odd"}) == (
        [*map(str, range(30))],
        True,
    )
    with pytest.raises(DataError, match="node 0: no target 'target' to compare with"):
        evaluate_file(model, path)
    path.write_text(json.dumps(graph) + "\n" + json.dumps(graph))
    with pytest.raises(DataError, match="line 2: the model is one of nodes"):
        predict_file(model, path, tmp_path / "out.csv")


def test_a_damaged_or_foreign_folder_is_refused(trained: Path, tmp_path: Path) -> None:
    import shutil

    with pytest.raises(UserError, match="no trained model"):
        Ensemble.load(tmp_path)
    for name, message in (
        ("model_0/reach.safetensors", "is damaged"),
        ("model_1/model.safetensors", "is damaged"),
        ("model_0/fold.json", "is damaged"),
        ("schema.json", "not JSON"),
        ("calibration.json", "is damaged"),
    ):
        copy = tmp_path / "copy"
        shutil.copytree(trained, copy)
        (copy / name).write_bytes((copy / name).read_bytes()[:20])
        with pytest.raises(UserError, match=message):
            Ensemble.load(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("change", ["narrow", "empty", "whole numbers", "schema", "member"])
def test_files_of_another_model_in_a_folder_are_refused(trained: Path, tmp_path: Path, change: str) -> None:
    import shutil

    copy = shutil.copytree(trained, tmp_path / "copy")
    path = copy / "model_0" / "reach.safetensors"
    reach = load_file(path)
    if change == "narrow":
        save_file({key: value[..., :1].contiguous() for key, value in reach.items()}, path)
    elif change == "empty":
        save_file(reach | {"references": reach["references"][:0]}, path)
    elif change == "whole numbers":
        save_file({key: value.long() for key, value in reach.items()}, path)
    else:
        path = copy / "schema.json" if change == "schema" else copy / "model_0" / "schema.json"
        path.write_text(path.read_text().replace('"graph"', '"node"'))
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    with pytest.raises(UserError, match=r"is damaged: |of another model|is not that of its members"):
        predict_file(Ensemble.load(copy), tmp_path / "new.csv", tmp_path / "out.csv")


def test_rows_are_held_by_what_they_are_to_take(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new.csv").write_text("smiles\n" + "CCO\n" * 10)
    model = Ensemble.load(trained)
    assert [len(piece.rows) for piece in predicted(model, tmp_path / "new.csv")] == [10]
    of_node = 4 * sum(member.model.in_channels for member in model.members)
    monkeypatch.setattr("mshgnn.predictor.predict.CHUNK_BYTES", 4 * of_node)
    assert max(len(piece.rows) for piece in predicted(model, tmp_path / "new.csv")) <= 2


def test_nodes_of_an_npz_are_trained_predicted_and_evaluated(tmp_path: Path) -> None:
    ring = np.stack([np.arange(40), np.roll(np.arange(40), 1)], axis=1)
    x = np.random.default_rng(0).normal(size=(40, 2))
    np.savez(tmp_path / "g.npz", node_features=x, edges=ring, node_labels=(x[:, 0] > 0).astype(np.int64))
    np.savez(tmp_path / "new.npz", node_features=x, edges=ring)
    np.savez(tmp_path / "wide.npz", node_features=np.ones((40, 3)), edges=ring)
    train(config(tmp_path / "g.npz", model={"name": "gcn", "hidden_channels": 8}), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    predict_file(model, tmp_path / "new.npz", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["node"] for row in rows] == [str(node) for node in range(40)]
    right = np.mean([int(row["target"]) == int(value > 0) for row, value in zip(rows, x[:, 0], strict=True)])
    assert evaluate_file(model, tmp_path / "g.npz").metrics["accuracy"] == pytest.approx(right)
    with pytest.raises(DataError, match="3 node features, the model was trained on 2"):
        predict_file(model, tmp_path / "wide.npz", tmp_path / "out.csv")


def test_a_molecule_of_megabytes_is_one_row_that_could_not_be_read(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(f"smiles\nCCO\n{'C' * 5_000_000}\nCC\n")
    done = predict_file(Ensemble.load(trained), tmp_path / "m.csv", tmp_path / "out.csv")
    assert (done.rows, done.failed) == (3, 1)
    assert "m.csv: line 3: " in done.first_problem


def test_what_is_no_file_of_graphs_is_one_line(trained: Path, tmp_path: Path) -> None:
    model = Ensemble.load(trained)
    np.savez(tmp_path / "g.npz", x=np.ones(2))
    for path in (tmp_path, tmp_path / "g.npz"):
        with pytest.raises(DataError, match="the model is one of graphs"):
            predict_file(model, path, tmp_path / "out.csv")
    (tmp_path / "m.csv").write_text("smiles,logp\n")
    for use in (evaluate_file, lambda model, path: predict_file(model, path, tmp_path / "out.csv")):
        with pytest.raises(DataError, match="there are no rows"):
            use(model, tmp_path / "m.csv")


def test_a_file_is_never_predicted_over_itself(trained: Path, tmp_path: Path) -> None:
    data = molecules(tmp_path / "new.csv", rows=3)
    before = data.read_text()
    (tmp_path / "link.csv").symlink_to(data)
    for out in (data, tmp_path / "link.csv"):
        with pytest.raises(UserError, match=r"--out .*: is the file to be read"):
            predict_file(Ensemble.load(trained), data, out)
    with pytest.raises(UserError, match=r": is a folder; name a file"):
        predict_file(Ensemble.load(trained), data, tmp_path)
    assert data.read_text() == before
    predict_file(Ensemble.load(trained), data, tmp_path / "a" / "b" / "out.csv")
    assert (tmp_path / "a" / "b" / "out.csv").exists()


@pytest.mark.parametrize("name", ["y.npy", "x.arrow"])
def test_arrays_are_not_predicted_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UserError, match="is the file to be read"):
        check_out(tmp_path / name, tmp_path)


def test_tables_of_nodes_are_not_predicted_over(tmp_path: Path) -> None:
    folder = nodes(tmp_path / "graph")
    train(config(folder, model=GCN, epochs=1), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    for data in (folder, folder / "nodes.csv"):
        with pytest.raises(UserError, match="is the file to be read"):
            predict_file(model, data, folder / "edges.csv")
    for _ in range(2):  # a former prediction is no input
        predict_file(model, folder, folder / "out.csv")
    (folder / "other.csv").write_text("id,size\nn0,1\n")
    with pytest.raises(DataError, match=r"other\.csv: the model was trained on nodes"):
        predict_file(model, folder / "other.csv", tmp_path / "out.csv")


def test_a_graph_on_the_disk_with_several_targets_is_predicted_and_evaluated(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    folder, y = tmp_path / "graph", random.standard_normal((60, 2))
    folder.mkdir()
    y[3, 1] = np.nan
    np.save(folder / "x.npy", random.standard_normal((60, 3)).astype(np.float32))
    np.save(folder / "edge_index.npy", random.integers(60, size=(2, 200)))
    np.save(folder / "y.npy", y)
    train(config(folder, model=GCN, epochs=1), tmp_path / "model", Silent())
    model = Ensemble.load(tmp_path / "model")
    predict_file(model, folder, tmp_path / "out.csv")
    rows = table(tmp_path / "out.csv")
    assert {"y_0", "y_0_low", "y_1"} <= rows[0].keys()
    found = np.array([[float(row["y_0"]), float(row["y_1"])] for row in rows])
    each = np.sqrt(np.nanmean((found - y) ** 2, axis=0))
    assert evaluate_file(model, folder).metrics["rmse"] == pytest.approx(float(each.mean()), rel=1e-4)
    np.save(folder / "y.npy", y[:, 0])
    predict_file(model, folder, tmp_path / "out.csv")  # which needs no targets
    with pytest.raises(DataError, match="node 0: no target 'y_0' to compare with"):
        evaluate_file(model, folder)


@pytest.mark.parametrize("width", [1, 3])
def test_nodes_of_another_width_than_the_scaled_columns_are_refused(tmp_path: Path, width: int) -> None:
    folder = nodes(tmp_path / "graph")
    header, *lines = (folder / "nodes.csv").read_text().splitlines()
    text = [header.replace("size", "size,age"), *(line.replace(",", ",1.5,", 1) for line in lines)]
    (folder / "nodes.csv").write_text("\n".join(text) + "\n")
    train(config(folder, model=GCN, epochs=1), tmp_path / "model", Silent())
    np.savez(tmp_path / "other.npz", node_features=np.ones((4, width)), edges=np.array([[0, 1]]))
    with pytest.raises(DataError, match=f"other.npz: {width} node features, the model was trained on 2"):
        predict_file(Ensemble.load(tmp_path / "model"), tmp_path / "other.npz", tmp_path / "out.csv")


def test_lines_that_cannot_be_read_lose_no_other(trained: Path, tmp_path: Path) -> None:
    long = b"C" * 10_000_000
    (tmp_path / "new.csv").write_bytes(b"smiles,note\nCCO,a\n" + long + b",b\nCC\xff,c\nCCC,d\n")
    written = predict_file(Ensemble.load(trained), tmp_path / "new.csv", tmp_path / "out.csv")
    assert (written.rows, written.failed) == (4, 2)
    status = [row["status"] for row in table(tmp_path / "out.csv")]
    assert (status[0], status[3]) == ("ok", "ok")
    assert "line 3: " in status[1]
    assert "line 4: " in status[2]
