from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import torch
from data_helpers import SMALL, write_tu
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.io import read_tu_data

from mshgnn.data import DataError, load_own
from mshgnn.data.readers import tu_text
from mshgnn.data.readers.tu_text import read_tu_folder
from mshgnn.data.sources.archives import unpack_tu_zip
from mshgnn.data.sources.store import mirror
from support.mirror import needs_mirror


def test_a_small_folder(tmp_path: Path) -> None:
    dataset = load_own(write_tu(tmp_path, SMALL))
    assert dataset.name == "SMALL"
    assert dataset.labels().tolist() == [1, 0, 1]
    assert dataset.class_names == ("-1", "7")
    assert [graph.num_nodes for graph in dataset.graphs] == [3, 3, 3]
    assert [graph.edge_index.shape[1] for graph in dataset.graphs] == [6, 6, 2]
    assert dataset.graphs[2].edge_index.tolist() == [[0, 1], [1, 0]]
    assert dataset.graphs[0].x.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_attributes_and_edge_labels_are_used(tmp_path: Path) -> None:
    tables = SMALL | {"node_attributes": "0.5, 1\n" * 9, "edge_labels": "1\n1\n" + "4\n" * 12}
    dataset = load_own(write_tu(tmp_path, tables))
    assert (dataset.num_features, dataset.edge_dim) == (5, 2)
    assert dataset.graphs[0].edge_attr.sum(dim=0).tolist() == [2, 4]


def test_self_loops_are_left_out_and_repeats_merged_as_by_pyg(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, SMALL | {"A": "1,1\n1,2\n1,2\n2,1\n5,5\n5,5\n"})
    tables = read_tu_folder(folder, "SMALL")
    assert tables.tensors["edge_index"].tolist() == [[0, 1], [1, 0]]
    assert tables.sizes["num_self_loops"] == 2


def test_graphs_without_edges_or_features_are_kept(tmp_path: Path) -> None:
    tables = {key: SMALL[key] for key in ("graph_indicator", "graph_labels")} | {"A": ""}
    dataset = load_own(write_tu(tmp_path, tables))
    assert [graph.num_nodes for graph in dataset.graphs] == [3, 3, 3]
    assert dataset.num_features == 1


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    dos = {table: text.replace("\n", "\r\n") for table, text in SMALL.items()}
    unix = load_own(write_tu(tmp_path / "unix", SMALL))
    assert load_own(write_tu(tmp_path / "dos", dos)).checksum == unix.checksum


@pytest.mark.parametrize(
    ("table", "content", "message"),
    [
        ("A", "1, 2\n2, x\n", r"SMALL_A.txt: line 2: not a whole number: 'x'"),
        ("A", "1, 2\n2, 1.5\n", r"line 2: not a whole number: '1.5'"),
        ("A", "1, 2\n2\n", r"line 2: expected 2 values, found 1"),
        ("A", "1, 2, 3\n", r"line 1: expected 2 values, found 3"),
        ("A", "1, 2\n\n2, 1\n", r"line 2: empty line"),
        ("A", "1, 2\n2, 99\n", r"line 2: edge 2, 99 names an unknown node \(nodes are 1..9\)"),
        ("A", "1, 2\n0, 1\n", r"line 2: edge 0, 1 names an unknown node"),
        ("A", "1, 2\n3, 4\n", r"line 2: edge 3, 4 joins two graphs"),
        ("A", b"1, 2\n\xff\xfe, 1\n", r"line 2: not a number: byte 0xff"),
        ("A", "1, 2\n" + "1" * 10_000_000, r"line 2: .* bytes in a line, more than the limit"),
        ("A", "1, 99999999999999999999999\n", r"line 1: not a whole number: '99999999999999999999999'"),
        ("graph_indicator", "1\n1\n1\n2\n2\n2\n3\n3\n4\n", r"line 9: graph 4 is not in 1..3"),
        ("graph_indicator", "1\n1\n2\n1\n2\n2\n3\n3\n3\n", r"line 4: graph numbers must not decrease"),
        ("graph_indicator", "1\n1\n1\n1\n1\n1\n3\n3\n3\n", r"graph 2 has no nodes"),
        ("graph_indicator", "", r"empty"),
        ("graph_labels", "7\n-1\n0.5\n", r"line 3: not a whole number"),
        ("node_labels", "3\n5\n9\n", r"node_labels.txt: 3 rows, expected 9"),
        ("node_attributes", "1, 2\n" * 8 + "1\n", r"line 9: expected 2 values, found 1"),
        ("node_attributes", "1\n" * 8 + "nan\n", r"line 9: NaN"),
        ("node_attributes", "1\n" * 8 + "1e60\n", r"line 9: NaN or infinity"),
        ("edge_labels", "1\n", r"edge_labels.txt: 1 rows, expected 14"),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, table: str, content: str | bytes, message: str) -> None:
    folder = write_tu(tmp_path, {**SMALL, table: content})
    with pytest.raises(DataError, match=message):
        load_own(folder)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1, 2\n2, 1\n", None),
        ("1, 2\r\n2, 1\r\n\r\n", None),
        ("1, 2\n2, 1", None),
        ("1, 2\n\n\n2, 1", "line 2: empty line"),
        ("\n1, 2\n", "line 1: empty line"),
        ("1, 2\n2, \u00e9\n", "line 2: not a number: byte 0xc3"),
        ("1, 2\n" + "2, 1" * 30, "line 2: .* bytes in a line"),
    ],
)
def test_blocks_of_any_size_see_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, content: str, message: str | None
) -> None:
    monkeypatch.setattr(tu_text, "BLOCK", block)
    monkeypatch.setenv("MSHGNN_LIMITS", "line=40")
    folder = write_tu(tmp_path, SMALL | {"A": content})
    if message is None:
        assert load_own(folder)[0].edge_index.tolist() == [[0, 1], [1, 0]]
    else:
        with pytest.raises(DataError, match=message):
            load_own(folder)


@pytest.mark.parametrize("table", ["A", "graph_indicator", "graph_labels"])
def test_a_missing_file_is_named(tmp_path: Path, table: str) -> None:
    folder = write_tu(tmp_path, {key: text for key, text in SMALL.items() if key != table})
    with pytest.raises(DataError, match=f"SMALL_{table}.txt|NAME_A.txt"):
        read_tu_folder(folder, "SMALL") if table != "A" else load_own(folder)


def test_real_valued_targets_are_not_classes(tmp_path: Path) -> None:
    tables = {key: text for key, text in SMALL.items() if key != "graph_labels"}
    write_tu(tmp_path, tables | {"graph_attributes": "0.1\n0.2\n0.3\n"})
    with pytest.raises(DataError, match="real-valued"):
        read_tu_folder(tmp_path, "SMALL")


@needs_mirror
@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR", "PTC", "PROTEINS", "IMDB-BINARY"])
def test_the_same_tensors_as_pyg(tmp_path: Path, name: str) -> None:
    folder = mirror()
    assert folder is not None
    unpack_tu_zip(folder / f"{name}.zip", tmp_path, name)
    tensors = read_tu_folder(tmp_path, name).tensors
    pyg_data, pyg_slices, _ = read_tu_data(str(tmp_path), name)
    counts = {"edge_index": "edges", "edge_attr": "edges", "x": "nodes"}
    assert int(tensors["nodes"].sum()) == pyg_data.num_nodes
    for key in ("edge_index", "y", "x", "edge_attr"):
        assert (key in tensors) == (key in pyg_data)
        if key in pyg_data:
            expected = pyg_data[key]
            if key in ("x", "edge_attr"):  # PyG keeps columns of labels that never occur
                expected = expected[:, expected.abs().sum(dim=0) > 0]
            assert torch.equal(tensors[key], expected)
            if key in counts:
                assert torch.equal(tensors[counts[key]], pyg_slices[key].diff())


numbers = st.sampled_from(["0", "1", "2", "3", "-1", "1.5", "nan", "x", "", " ", "1e400", "9" * 30, "\x00", "é"])
lines = st.lists(st.lists(numbers, min_size=1, max_size=3).map(", ".join), max_size=6).map("\n".join)
contents = st.one_of(lines, st.text(max_size=40), st.binary(max_size=40))


@settings(max_examples=150, deadline=None)
@given(tables=st.dictionaries(st.sampled_from([*SMALL, "edge_labels", "node_attributes"]), contents, max_size=3))
def test_any_content_is_read_or_refused_in_one_line(tables: dict[str, str | bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_tu(Path(folder), {**SMALL, **tables})
        try:
            dataset = load_own(folder)
        except DataError as error:
            refused = str(error)
        else:
            refused = ""
            assert all(bool(torch.isfinite(graph.x).all()) for graph in dataset.graphs)
        assert "\n" not in refused


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_written_graphs_come_back(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    targets = data.draw(st.lists(st.integers(-5, 5), min_size=len(sizes), max_size=len(sizes)))
    edges, start = [], 0
    expected = []
    for size in sizes:
        node = st.integers(0, size - 1)
        drawn = data.draw(st.sets(st.tuples(node, node).filter(lambda pair: pair[0] < pair[1])))
        both = drawn | {(v, u) for u, v in drawn}
        expected.append(both)
        edges += [(u + start + 1, v + start + 1) for u, v in sorted(both)]
        start += size
    tables = {
        "A": "".join(f"{u}, {v}\n" for u, v in edges),
        "graph_indicator": "".join(f"{index + 1}\n" * size for index, size in enumerate(sizes)),
        "graph_labels": "".join(f"{target}\n" for target in targets),
    }
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_own(write_tu(Path(folder), tables))
    assert [graph.num_nodes for graph in dataset.graphs] == sizes
    assert [set(map(tuple, graph.edge_index.t().tolist())) for graph in dataset.graphs] == expected
    order = sorted(set(targets))
    assert dataset.labels().tolist() == [order.index(target) for target in targets]
