from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.data import DataError, from_tables, load_own

pd = pytest.importorskip("pandas")


def test_data_frames_are_what_their_files_would_be(tmp_path: Path) -> None:
    nodes = pd.DataFrame(
        {"name": ["a", "b", "c"], "size": [1, 2, 3], "share": [0.5, 1e-7, 3], "label": ["x", None, "y"], "w": [1, 2, 0]}
    )
    edges = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "km": [1.5, 2]}, index=[7, 9])
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    made = from_tables(nodes, edges, target="label", id_column="name", weight_column="w")
    read = load_own(tmp_path, target="label", id_column="name", weight_column="w")
    assert made.checksum == read.checksum
    assert made.class_names == ("x", "y")
    assert made.labels().tolist() == [0, -1, 1]
    assert (made.num_features, made.edge_dim) == (2, 1)


def test_numbers_may_be_ids_and_mistakes_have_their_row() -> None:
    nodes = pd.DataFrame({"id": [10, 20, 30], "size": [1.5, float("nan"), 2], "y": [1.5, 2.5, float("nan")]})
    edges = pd.DataFrame({"a": [10, 20], "b": [20, 40]})
    with pytest.raises(DataError, match=r"own: edges: line 2: column 'b': node '40' is not in the table of nodes"):
        from_tables(nodes, edges, ignore=["size"])
    edges["b"] = [20, 30]
    with pytest.raises(DataError, match=r"own: nodes: line 2: column 'size': not a number: ''"):
        from_tables(nodes, edges)
    assert from_tables(nodes, edges, ignore=["size"], target="y").objective == "regress"
    with pytest.raises(DataError, match="own: edges: must be a pandas data frame, not list"):
        from_tables(nodes, [[10, 20]])
