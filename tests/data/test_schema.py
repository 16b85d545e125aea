from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.data import DataError, Schema, load_own, read_own
from mshgnn.data.readers.asked import Asked

PLAIN = Schema("graph", "classify", "accuracy", class_names=("no", "yes"), node_labels=("C", "N", "O"))


def write(path: Path, graphs: list[tuple[list[str], object]]) -> Path:
    rows = [{"edges": [], "node_labels": labels, "target": target} for labels, target in graphs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_second_file_finds_the_old_columns_and_classes(tmp_path: Path) -> None:
    first = read_own(write(tmp_path / "a.jsonl", [(["C", "N", "O"], "no"), (["O"], "yes")]))
    second = write(tmp_path / "b.jsonl", [(["C", "N", "S"], "yes"), (["N"], "yes")])
    taken = replace(first.schema, unseen="other")
    dataset = load_own(second, schema=taken)
    assert dataset[0].x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert (dataset.labels().tolist(), dataset.class_names) == ([1, 1], ("no", "yes"))
    with pytest.raises(DataError, match=r"b.jsonl: node label 'S' was not in the training data"):
        load_own(second, schema=first.schema)
    third = write(tmp_path / "c.jsonl", [(["C"], "maybe")])
    with pytest.raises(DataError, match=r"line 1: target 'target': class 'maybe' was not in the training data"):
        load_own(third, schema=taken)


def test_it_is_made_from_the_training_part_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [(["C", "N"], "no"), (["N"], "yes"), (["S", "C"], "no")])
    read = read_own(path)
    schema = read.schema.from_training(read.dataset, torch.tensor([0, 1]))
    assert (schema.node_labels, schema.class_names, schema.unseen) == (("C", "N"), ("no", "yes"), "other")
    assert load_own(path, schema=schema)[2].x.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_degrees_are_capped_by_the_training_part(tmp_path: Path) -> None:
    rows = [
        {"edges": [[0, leaf] for leaf in range(1, leaves + 1)], "num_nodes": leaves + 1, "target": leaves * 0.5}
        for leaves in (2, 3, 5)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_own(path)
    assert read.schema.degree_cap == 5
    schema = read.schema.from_training(read.dataset, torch.tensor([0, 1]))
    assert (schema.degree_cap, schema.target_mean) == (3, (1.25,))
    assert load_own(path, schema=schema)[2].x.argmax(dim=1).tolist() == [3, 1, 1, 1, 1, 1]
    for described in ({"node_features": [[1, 0, 0, 0]] * 3}, {"node_labels": ["a"] * 3}):
        path.write_text(json.dumps({"edges": [[0, 1]], "target": 1, **described}))
        with pytest.raises(DataError, match="the model was trained on degrees alone"):
            load_own(path, schema=schema)


names = st.lists(st.text(max_size=5), max_size=4, unique=True).map(tuple)


@given(
    classes=names,
    labels=st.lists(st.one_of(st.integers(), st.text(max_size=4)), max_size=4, unique=True).map(tuple),
    cap=st.one_of(st.none(), st.integers(0, 600)),
    moments=st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9)), max_size=3),
    unseen=st.sampled_from(["other", "error"]),
)
def test_json_there_and_back(
    classes: tuple[str, ...],
    labels: tuple[int | str, ...],
    cap: int | None,
    moments: list[tuple[float, float]],
    unseen: Any,
) -> None:
    schema = Schema(
        "node",
        "regress",
        "mae",
        class_names=classes,
        node_labels=labels,
        columns={"id": "name"},
        degree_cap=cap,
        unseen=unseen,
        feature_mean=tuple(mean for mean, _ in moments),
        feature_std=tuple(std for _, std in moments),
    )
    assert Schema.from_json(schema.to_json()) == schema


def changed(**values: object) -> str:
    return json.dumps(json.loads(PLAIN.to_json()) | values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a schema"),
        (
            changed(version=99),
            "a schema of version 99, written by another mshgnn; this one reads version 1: train again",
        ),
        ("{}", "not a schema of version 1"),
        (changed(clas_names=[]), "unknown key 'clas_names'; did you mean 'class_names'"),
        (changed(class_names="no"), "class_names has a value of the wrong kind"),
        (changed(class_names=["a", "a"]), "class_names holds a name twice"),
        (changed(node_labels=[[1]]), "wrong kind"),
        (changed(degree_cap=-1), "wrong kind"),
        (changed(degree_cap="9"), "wrong kind"),
        (changed(columns=[1]), "wrong kind"),
        (changed(task=3), "wrong kind"),
        (changed(task="edge"), "task 'edge'"),
        (changed(metric="rmse"), "valid: accuracy"),
        (changed(feature_mean=[1.0]), "as many of each"),
        (changed(feature_mean=[1.0], feature_std=[0.0]), "positive"),
        ('{"version": 1}', "missing key 'task'"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises(DataError, match=message) as refused:
        Schema.load(tmp_path / "schema.json")
    assert "\n" not in str(refused.value)


def test_molecules_keep_their_column_and_classes(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (tmp_path / "a.csv").write_text("mol,active\nC,no\nCC,yes\n")
    (tmp_path / "b.csv").write_text("active,mol\nyes,CCC\n")
    schema = read_own(tmp_path / "a.csv", Asked(smiles="mol")).schema
    assert load_own(tmp_path / "b.csv", schema=schema).labels().tolist() == [1]


def test_amounts_are_scaled_by_the_training_part_and_zeros_and_ones_are_left(tmp_path: Path) -> None:
    rows = [
        {"edges": [], "node_features": [[value, float(value > 15), 7]], "target": value * 0.51}
        for value in (10.0, 20.0, 90.0)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_own(path)
    schema = read.schema.from_training(read.dataset, torch.tensor([0, 1]))
    assert schema.feature_mean == (15.0, 0.0, 7.0)
    assert schema.feature_std == pytest.approx((50**0.5, 1.0, 1.0))
    x = load_own(path, schema=schema)[2].x
    assert x.tolist() == [pytest.approx([75 / 50**0.5, 1.0, 0.0])]
    with pytest.raises(DataError, match="here: 2 node features, the model was trained on 3"):
        schema.scaled(torch.ones(4, 2), "here")


def test_nodes_that_a_file_only_counts_are_bounded(tmp_path: Path) -> None:
    schema = Schema("graph", "regress", "rmse", target_names=("target",), degree_cap=50)
    few = torch.empty(2, 0, dtype=torch.long)
    assert schema.degrees(few, 3, "here").shape == (3, 51)
    with pytest.raises(DataError, match="here: 0 bytes would become 2,040,000,000 in memory"):
        schema.degrees(few, 10**7, "here")
