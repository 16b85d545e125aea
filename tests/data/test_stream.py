from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError, Schema, read_own
from mshgnn.data.readers import table
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.stream import columns_of, read_bare_line, stream_rows

SCHEMA = Schema("graph", "regress", "rmse", target_names=("target",), columns={"smiles": "smiles"})


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=80), st.text(alphabet='smiles,"\n\tC(1)=O{}[]:x', max_size=80)))
def test_any_file_gives_rows_or_one_line_that_names_it(tmp_path: Path, ending: str, content: bytes | str) -> None:
    path = tmp_path / f"any{ending}"
    start = b"" if ending == ".jsonl" else b"smiles\n"
    path.write_bytes(start + (content if isinstance(content, bytes) else content.encode()))
    message = f"{path}: "
    try:
        for row in stream_rows(path, Asked(schema=SCHEMA, on_error="skip")):
            assert (row.graph is None) == bool(row.problem)
            assert set(row.cells) == set(columns_of(path))
    except DataError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


def test_a_bad_row_ends_the_stream_or_is_passed_on_with_its_place(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "m.csv"
    path.write_text("smiles,target\nCC,1\nC(,2\nCCC,3\n")
    rows = list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))
    assert [row.problem for row in rows] == ["", f"{path}: line 3: column 'smiles': not a molecule: 'C('", ""]
    assert [row.targets["target"] for row in rows] == ["1", "2", "3"]
    with pytest.raises(DataError, match="line 3"):
        list(stream_rows(path, Asked(schema=SCHEMA, on_error="stop")))


@pytest.mark.parametrize("content", ["", "[]", '{"edges": [], "num_nodes": 0}', "[" * 100_000])
def test_a_bad_graph_of_nodes_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "g.jsonl").write_text(content)
    with pytest.raises(DataError, match=r"g\.jsonl: line 1: "):
        read_bare_line(tmp_path / "g.jsonl", Asked())


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_line_that_cannot_be_read_is_a_row_among_others(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.setenv("MSHGNN_LIMITS", "line=1000")
    content = b'smiles,target\nCC,1\n"' + b"C" * 5000 + b'",2\nC\xff,3\nCCC,4\n'
    path = tmp_path / f"m{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    rows = list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))
    problems = [row.problem.removeprefix(f"{path}: ") for row in rows]
    assert problems == [
        "", "line 3: longer than the limit of 1,000 bytes in a line", "line 4: not UTF-8 text (character 2)", "",
    ]  # fmt: skip
    assert [row.cells["smiles"] for row in rows] == ["CC", "...", "C\\xff", "CCC"]
    with pytest.raises(DataError, match="line 3: longer"):
        list(stream_rows(path, Asked(schema=SCHEMA, on_error="stop")))


def test_a_row_with_a_stray_quotation_mark_is_a_row_among_others(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "m.csv"
    path.write_text('smiles,target\n"CC"O,1\nCCC,4\n"CO",2\n"CCO,')  # the last line is cut
    rows = list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))
    problems = [row.problem.removeprefix(f"{path}: ") for row in rows]
    assert problems == ["line 2: ',' expected after '\"'", "", "", "line 5: a quotation mark is never closed"]
    assert [row.cells["smiles"] for row in rows] == ["", "CCC", "CO", ""]
    read = read_own(path, Asked(objective="regress", on_error="skip"))
    assert [row for row, _ in read.skipped] == [0, 3]
    path.write_text('smiles,target\nCC,1\nCCC,4\nCO,2\n"CCO,')
    with pytest.raises(DataError, match="line 5: a quotation mark is never closed"):
        list(stream_rows(path, Asked(schema=SCHEMA, on_error="stop")))
    path.write_text('smiles,target\nCC,1\n"CO,2\nCCC,4\n')
    with pytest.raises(DataError, match="line 3: a quotation mark is never closed"):  # other rows are inside
        list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))


def test_rows_of_parquet_come_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(table, "PARQUET_ROWS", 2)
    smiles = ["CC", "C", None, "CO", "O"]
    parquet.write_table(arrow.table({"smiles": smiles, "target": [1.5, None, 2.0, 3.0, 4.0]}), tmp_path / "m.parquet")
    rows = list(stream_rows(tmp_path / "m.parquet", Asked(schema=SCHEMA, on_error="skip")))
    assert [row.cells["target"] for row in rows] == ["1.5", "", "2.0", "3.0", "4.0"]
    assert [row.where.rpartition(" ")[2] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [bool(row.problem) for row in rows] == [False, False, True, False, False]


def test_the_ids_of_a_jsonl_are_a_column(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text('{"edges": [], "num_nodes": 1, "id": "a"}\n{"edges": [], "num_nodes": 2}\n{\n')
    assert columns_of(path) == ["line", "id"]
    rows = list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))
    assert [row.cells["id"] for row in rows] == ["a", "", ""]


def test_a_bad_first_line_takes_no_ids_from_the_others(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text("{\n" + '{"id": "a", "edges": [], "num_nodes": 1}\n' * 2)
    assert columns_of(path) == ["line", "id"]
    rows = list(stream_rows(path, Asked(schema=SCHEMA, on_error="skip")))
    assert [row.cells["id"] for row in rows] == ["", "a", "a"]
