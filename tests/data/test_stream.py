from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError, Schema
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
        read_bare_line(tmp_path / "g.jsonl")
