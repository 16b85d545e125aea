"""A folder in TU text form, from training to predictions on another folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from mshgnn.data import DataError, load_own, read_own
from mshgnn.explanation.explain import explain_file
from mshgnn.predictor.embed import embed_file
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.evaluate import evaluate_file
from mshgnn.predictor.predict import predict_file
from mshgnn.predictor.train import train
from support.own_data import Silent, config, table

pytestmark = pytest.mark.usefixtures("reference_backend")
RING, STAR = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (0, 2), (0, 3)]


@dataclass(frozen=True)
class Drawn:
    """A graph of four nodes: edges, labels of nodes, an attribute of each, one label of all edges, a class."""

    edges: Sequence[tuple[int, int]]
    labels: Sequence[int]
    attribute: float
    edge_label: int
    target: int


def ring(*labels: int, edge_label: int = 1) -> Drawn:
    return Drawn(RING, labels or (3, 5, 3, 5), 0.5, edge_label, 7)


def star(*labels: int, edge_label: int = 2) -> Drawn:
    return Drawn(STAR, labels or (5, 3, 3, 3), -0.5, edge_label, -1)


def write(
    folder: Path, graphs: Sequence[Drawn], *, features: bool = True, edges: bool = True, targets: bool = True
) -> Path:
    """The tables of some graphs; without ``features`` nodes are only counted."""
    folder.mkdir()
    tables: dict[str, list[str]] = {"A": [], "graph_indicator": [], "edge_labels": []}
    if targets:
        tables["graph_labels"] = [str(graph.target) for graph in graphs]
    if features:
        tables["node_labels"] = [str(label) for graph in graphs for label in graph.labels]
        tables["node_attributes"] = [f"{graph.attribute}" for graph in graphs for _ in range(4)]
    for number, graph in enumerate(graphs):
        tables["graph_indicator"] += [str(number + 1)] * 4
        both = [
            (a + 4 * number + 1, b + 4 * number + 1) for one, two in graph.edges for a, b in ((one, two), (two, one))
        ]
        tables["A"] += [f"{a}, {b}" for a, b in both]
        tables["edge_labels"] += [str(graph.edge_label)] * len(both)
    if not edges:
        del tables["edge_labels"]
    for name, lines in tables.items():
        (folder / f"{folder.name}_{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def trained(folder: Path, data: Path, epochs: int = 3) -> Ensemble:
    train(config(data, epochs=epochs), folder, Silent())
    return Ensemble.load(folder)


def test_a_graph_is_predicted_alike_whatever_else_its_folder_holds(tmp_path: Path) -> None:
    model = trained(tmp_path / "model", write(tmp_path / "T", [ring(), star()] * 20))
    predict_file(model, tmp_path / "T", tmp_path / "all.csv")
    write(tmp_path / "U", [star(), ring(9, 9, 3, 5), ring(edge_label=3), ring()], targets=False)
    done = predict_file(model, tmp_path / "U", tmp_path / "new.csv")
    seen, new = table(tmp_path / "all.csv"), table(tmp_path / "new.csv")
    assert [row["graph"] for row in new] == ["1", "2", "3", "4"]
    assert (done.rows, done.failed) == (4, 1)
    assert new[2]["status"].endswith("U: graph 3: edge label 3 was not in the training data")
    for old, again in ((seen[1], new[0]), (seen[0], new[3])):
        assert {**old, "graph": ""} == {**again, "graph": ""}
    assert new[1]["status"] == "ok"  # 9 goes to the column of other labels
    assert new[1]["target_prob"] != new[3]["target_prob"]


def test_evaluation_embeddings_and_explanations_take_the_folder_too(tmp_path: Path) -> None:
    data = write(tmp_path / "T", [ring(), star()] * 20)
    model = trained(tmp_path / "model", data, epochs=20)
    found = evaluate_file(model, data)
    assert (found.items, found.failed) == (40, 0)
    assert found.metrics["accuracy"] == 1.0
    assert embed_file(model, data, tmp_path / "e.npz").rows == 40
    (why,) = explain_file(model, data, rows=[1], methods=["occlusion"])
    assert (why.truth, why.node_names[0]) == ("-1", "0 (5)")
    bare = write(tmp_path / "U", [ring()], targets=False)
    with pytest.raises(DataError, match=r"U: graph 1: no target 'target' to compare with"):
        evaluate_file(model, bare)


def test_degrees_are_capped_by_the_training_part(tmp_path: Path) -> None:
    graphs = [ring(), replace(ring(), target=-1)] * 10 + [star()]
    data = write(tmp_path / "T", graphs, features=False, edges=False)
    read = read_own(data)
    assert (read.schema.degree_cap, read.dataset.degree_columns) == (3, 4)
    own = read.schema.from_training(read.dataset, torch.arange(20))
    assert own.degree_cap == 2
    assert load_own(data, schema=own).num_features == 3


def test_labels_keep_their_columns_behind_the_attributes(tmp_path: Path) -> None:
    first = read_own(write(tmp_path / "T", [ring(3, 5, 9, 9), star(3, 3, 5, 5)] * 5))
    own = first.schema.from_training(first.dataset, torch.arange(1, 10, 2))
    assert (first.schema.node_labels, own.node_labels, own.edge_labels) == ((3, 5, 9), (3, 5), (1, 2))
    own = replace(own, class_names=first.schema.class_names)
    again = load_own(write(tmp_path / "U", [star(5, 9, 4, 3), ring(3, 3, 3, 3)]), schema=own)
    assert (own.feature_mean, own.feature_std) == ((-0.5,), (1.0,))
    assert again[0].x.tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert again[0].edge_attr.tolist() == [[0.0, 1.0]] * 6
    assert (again.labels().tolist(), again.class_names) == ([0, 1], ("-1", "7"))


def test_what_a_trained_model_cannot_take_is_one_line(tmp_path: Path) -> None:
    model = trained(tmp_path / "model", write(tmp_path / "T", [ring(), star()] * 20))
    one_way = write(tmp_path / "U", [ring(), star()])
    lines = (one_way / "U_A.txt").read_text().splitlines()
    (one_way / "U_A.txt").write_text("\n".join(lines[:-1]) + "\n")
    labels = (one_way / "U_edge_labels.txt").read_text().splitlines()
    (one_way / "U_edge_labels.txt").write_text("\n".join(labels[:-1]) + "\n")
    assert predict_file(model, one_way, tmp_path / "o.csv").failed == 1
    with pytest.raises(DataError, match=r"graph 2: an edge is listed in one direction only"):
        predict_file(model, one_way, tmp_path / "o.csv", on_error="stop")
    bare = write(tmp_path / "V", [ring()], features=False)
    with pytest.raises(DataError, match=r"V: graph 1: no node_labels, which the model was trained on"):
        predict_file(model, bare, tmp_path / "o.csv", on_error="stop")
    wide = write(tmp_path / "W", [ring()])
    (wide / "W_node_labels.txt").write_text("3, 1\n5, 1\n3, 2\n5, 2\n")
    with pytest.raises(DataError, match=r"W_node_labels.txt: 2 columns of labels; a trained model takes one"):
        predict_file(model, wide, tmp_path / "o.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: the model is one of graphs; give a .jsonl"):
        predict_file(model, tmp_path / "empty", tmp_path / "o.csv")
