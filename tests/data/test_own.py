from __future__ import annotations

from pathlib import Path

import pytest
from data_helpers import SMALL, write_tu

from mshgnn.data import DataError, load_own


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    for path, message in (
        (tmp_path / "nowhere", "not found"),
        (tmp_path / "a.txt", r"expected a .jsonl, a table of SMILES"),
        (tmp_path, r"expected one NAME_A.txt, found none"),
    ):
        with pytest.raises(DataError, match=message):
            load_own(path)
    write_tu(tmp_path, SMALL, "ONE")
    write_tu(tmp_path, SMALL, "TWO")
    with pytest.raises(DataError, match="found ONE, TWO"):
        load_own(tmp_path)


def test_a_misspelt_table_and_one_way_edges_are_refused(tmp_path: Path) -> None:
    write_tu(
        tmp_path / "a", {("node_label" if table == "node_labels" else table): text for table, text in SMALL.items()}
    )
    with pytest.raises(DataError, match=r"SMALL_node_label.txt: unknown table; known are A, .*node_labels"):
        load_own(tmp_path / "a")
    write_tu(tmp_path / "b", SMALL | {"A": SMALL["A"].replace("7, 8\n", "")})
    with pytest.raises(DataError, match=r"SMALL_A.txt: graph 3: an edge is listed in one direction only"):
        load_own(tmp_path / "b")


def test_a_path_may_be_text(tmp_path: Path) -> None:
    assert load_own(str(write_tu(tmp_path, SMALL))).name == "SMALL"
