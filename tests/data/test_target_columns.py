from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from data_helpers import SMALL, write_tu

from mshgnn.data import DataError, load_own, load_splits, read_own
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.target_columns import TargetColumns, read_targets


def read_columns(columns: dict[str, list[Any]], bad: BadRows | None = None, **asked: Any) -> TargetColumns:
    bad = BadRows("stop") if bad is None else bad
    return read_targets(columns, lambda row, name: f"row {row}: {name}", Asked(**asked), bad)


def understood(*cells: Any, **asked: Any) -> tuple[str, tuple[str, ...], list[float]]:
    read = read_columns({"y": list(cells)}, **asked)
    return read.objective, read.class_names, read.values[:, 0].tolist()


def test_words_and_few_whole_numbers_are_classes_and_blanks_are_no_class() -> None:
    assert understood("b", "a", "b") == ("classify", ("a", "b"), [1, 0, 1])
    assert understood("2", 10, "1.0") == ("classify", ("1", "2", "10"), [1, 2, 0])
    objective, names, values = understood("b", None, "nan", "a")
    assert (objective, names, values[0], values[3]) == ("classify", ("a", "b"), 1, 0)
    assert torch.tensor(values[1:3]).isnan().all()


@pytest.mark.parametrize(
    ("cells", "kind"), [([str(n) for n in range(21)], "whole numbers"), ([f"w{n}" for n in range(21)], "words")]
)
def test_many_classes_are_a_question(cells: list[str], kind: str) -> None:
    with pytest.raises(DataError, match=f"row 0: y: 21 different {kind} from here on: say objective 'classify'"):
        understood(*cells)
    assert len(understood(*cells, objective="classify")[1]) == 21


@pytest.mark.parametrize(
    ("cells", "row"),
    [(["0.5", "1", "x"], 2), (["x", "0.5", "1"], 0), (["0", "1", "inf"], 2), ([0, 1, "-Infinity"], 2)],
)
def test_a_word_among_numbers_is_blamed_in_its_own_row(cells: list[Any], row: int) -> None:
    with pytest.raises(DataError, match=f"row {row}: y: not a number: "):
        understood(*cells)


def test_an_amount_among_words_is_blamed_in_its_own_row() -> None:
    with pytest.raises(DataError, match=r"row 2: y: target must be a whole number or a word, not 0\.5"):
        understood("a", "b", "0.5", "a")


@pytest.mark.parametrize(
    ("columns", "asked", "objective", "wrong", "kept"),
    [
        ({"y": ["0.5", "oops", "1.5", "inf", "2"]}, {}, "regress", {1: "'oops'", 3: "'inf'"}, [0.5, 1.5, 2]),
        ({"y": ["b", "a", "0.5", "b"]}, {}, "classify", {2: "not 0.5"}, [1, 0, 1]),
        ({"y": [str(n) for n in range(30)] + ["inf"]}, {"objective": "regress"}, "regress", {30: "'inf'"}, range(30)),
        ({"y": ["1", "0", "inf"]}, {}, "classify", {2: "'inf'"}, [1, 0]),
        ({"y": ["1", "0.5", "0"], "z": ["1", "1", "0"]}, {"objective": "multilabel"}, "multilabel",
         {1: "labels are 0 or 1, not '0.5'"}, [1, 0]),
        ({"y": ["1", "2", "3"], "z": ["1.5", "low", "2"]}, {}, "regress",
         {1: "several targets must be numbers"}, [1, 3]),
    ],
)  # fmt: skip
def test_rows_with_a_target_that_cannot_be_right_are_noted_and_missing(
    columns: dict[str, list[Any]], asked: dict[str, Any], objective: str, wrong: dict[int, str], kept: list[float]
) -> None:
    bad = BadRows("skip")
    read = read_columns(columns, bad, **asked)
    assert read.objective == objective
    assert list(bad) == list(wrong)
    assert all(bad[row].startswith(f"row {row}: ") and reason in bad[row] for row, reason in wrong.items())
    assert read.values[list(bad)].isnan().all()
    assert read.values[[row for row in range(len(read.values)) if row not in bad], 0].tolist() == list(kept)
    with pytest.raises(DataError, match=f"row {next(iter(wrong))}: "):
        read_columns(columns, **asked)


def test_true_and_false_are_labels_among_several_targets() -> None:
    columns = {"a": ["True", "false", ""], "b": ["0", "1", "1"]}
    read = read_columns(columns)
    assert read.objective == "multilabel"
    assert read.values.nan_to_num(nan=-1).tolist() == [[1, 0], [0, 1], [-1, 1]]
    with pytest.raises(DataError, match="row 1: a: several targets must be numbers, not 'no'"):
        read_columns({"a": ["1", "no"], "b": ["0", "1"]})


def test_a_target_that_is_blank_everywhere_is_named() -> None:
    with pytest.raises(DataError, match="row 0: b: every target is blank"):
        read_columns({"a": ["1", "0"], "b": ["", "nan"]})
    with pytest.raises(DataError, match="row 0: y: every target is blank"):
        read_columns({"y": ["", ""]}, objective="regress")


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps({"edges": [[0, 1]], "num_nodes": 2, **row}) + "\n" for row in rows))
    return path


def test_a_graph_without_a_class_is_in_no_part(tmp_path: Path) -> None:
    rows = [{"target": None if n == 3 else n % 2 == 0} for n in range(21)]
    dataset = load_own(jsonl(tmp_path / "g.jsonl", rows))
    assert dataset.class_names == ("false", "true")
    assert dataset.labels()[:5].tolist() == [1, 0, 1, -1, 1]
    for fold in load_splits(dataset).folds:
        assert sorted(torch.cat(list(fold)).tolist()) == [n for n in range(21) if n != 3]


def test_a_line_of_jsonl_has_its_own_id_and_split(tmp_path: Path) -> None:
    words = ["train"] * 3 + ["val", "test", None]
    path = jsonl(tmp_path / "g.jsonl", [{"target": n % 2, "id": n, "split": word} for n, word in enumerate(words)])
    (fold,) = load_splits(load_own(path)).folds
    assert [part.tolist() for part in fold] == [[0, 1, 2], [3], [4]]


def test_nodes_of_jsonl_have_splits(tmp_path: Path) -> None:
    line = {"node_targets": [0, 1, 0], "num_nodes": 3, "node_splits": ["test", "train", "validation"]}
    (fold,) = load_splits(load_own(jsonl(tmp_path / "g.jsonl", [line]))).folds
    assert [part.tolist() for part in fold] == [[1], [2], [0]]


def test_bad_lines_of_jsonl_are_left_out_where_that_is_wished(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "g.jsonl", [{"target": 0}, {"target": 1}])
    path.write_bytes(b"{\n" + path.read_bytes() + b"\xff\n")
    read = read_own(path, Asked(on_error="skip"))
    assert read.dataset.num_items == 2
    assert [(row, str(path) in reason) for row, reason in read.skipped] == [(0, True), (3, True)]
    with pytest.raises(DataError, match="line 1: "):
        read_own(path)


def test_a_bad_target_of_jsonl_is_left_out_where_that_is_wished(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "g.jsonl", [{"target": word} for word in ("a", [1], "b", 0.5, "a")])
    read = read_own(path, Asked(on_error="skip"))
    assert [row for row, _ in read.skipped] == [1, 3]
    assert "line 4: target 'target': " in dict(read.skipped)[3]
    assert read.dataset.labels().tolist() == [0, 1, 0]
    with pytest.raises(DataError, match="line 1: target 'target': not a number: 'a'"):
        load_own(jsonl(path, [{"target": "a"}] * 3), objective="regress", on_error="skip")


def test_a_node_with_a_bad_target_stays_without_one_where_that_is_wished(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = {"node_targets": ["a", 0.5, "b", "a"], "num_nodes": 4}
    path = jsonl(tmp_path / "g.jsonl", [line])
    assert load_own(path, on_error="skip").labels().tolist() == [0, -1, 1, 0]
    assert "node 1: target must be a whole number or a word, not 0.5: without a target, of 4 nodes" in caplog.text
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(DataError, match="line 2: "):  # no node of it could be left out
        load_own(path, on_error="skip")


def test_a_graph_of_a_tu_folder_with_a_bad_target_is_left_out_where_that_is_wished(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "b", SMALL | {"graph_attributes": "0\n1.5\n1\n"})
    read = read_own(folder, Asked(target=("attribute",), objective="classify", on_error="skip"))
    assert read.dataset.labels().tolist() == [0, 1]
    assert [row for row, _ in read.skipped] == [1]
    again = read_own(folder, Asked(schema=read.schema, on_error="skip"))
    assert (again.dataset.labels().tolist(), [row for row, _ in again.skipped]) == ([0, 1], [1])


def test_directed_edges_of_jsonl_and_npz_go_one_way(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "g.jsonl", [{"target": 0}, {"target": 1}])
    assert load_own(path, directed=True)[0].edge_index.tolist() == [[0], [1]]
    assert load_own(path)[0].edge_index.tolist() == [[0, 1], [1, 0]]
    edges, labels = np.array([[0, 1], [1, 2]]), np.array([0, 1, 1])
    np.savez(tmp_path / "g.npz", node_features=np.ones((3, 1)), edges=edges, node_labels=labels)
    assert load_own(tmp_path / "g.npz", directed=True)[0].edge_index.tolist() == [[0, 1], [1, 2]]


def test_an_npz_may_have_several_targets(tmp_path: Path) -> None:
    values = np.array([[0.5, 1], [1.5, np.nan], [2.5, 3]])
    np.savez(tmp_path / "g.npz", node_features=np.ones((3, 1)), edges=np.array([[0, 1]]), node_labels=values)
    dataset = load_own(tmp_path / "g.npz")
    assert (dataset.objective, dataset.target_names) == ("regress", ("target_0", "target_1"))
    assert load_own(tmp_path / "g.npz", target="target_0").labels().flatten().tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(DataError, match="no target 'y'; targets are target_0, target_1"):
        load_own(tmp_path / "g.npz", target="y")


def test_a_tu_folder_may_have_amounts_as_targets(tmp_path: Path) -> None:
    labels = load_own(write_tu(tmp_path / "l", SMALL), objective="regress")
    assert (labels.objective, labels.labels().flatten().tolist()) == ("regress", [7, -1, 7])
    without = {key: value for key, value in SMALL.items() if key != "graph_labels"}
    dataset = load_own(write_tu(tmp_path / "a", without | {"graph_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n"}))
    assert (dataset.objective, dataset.target_names) == ("regress", ("attribute_0", "attribute_1"))
    assert dataset.labels().tolist() == [[0.5, 1], [1.5, 2], [2.5, 3]]
    both = write_tu(tmp_path / "b", SMALL | {"graph_attributes": "0.5\n1.5\n2.5\n"})
    assert load_own(both).objective == "classify"
    assert load_own(both, target="attribute").labels().flatten().tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"id_column": "name"}, "the option id name: a file of this kind has no use for it"),
        ({"ignore": ["x"]}, "no column 'x' to leave out"),
        ({"split_column": "part"}, "the option split part"),
    ],
)
def test_an_option_without_a_meaning_is_refused(tmp_path: Path, asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        load_own(jsonl(tmp_path / "g.jsonl", [{"target": 0}, {"target": 1}]), **asked)


def test_a_misspelt_column_to_leave_out_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "m.csv"
    path.write_text("name,smiles,target,extra\na,CC,1,9\nb,C,0,8\n")
    with pytest.raises(DataError, match="no column 'extr' to leave out; did you mean 'extra'"):
        load_own(path, target="*", ignore=["extr"])
    dataset = load_own(path, target="*", id_column="name")
    assert dataset.target_names == ("target", "extra")
    with pytest.raises(DataError, match="no column 'nam'"):
        load_own(path, id_column="nam")
