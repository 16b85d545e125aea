from __future__ import annotations

import json
import tempfile
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError, load_own

GOOD = '{"edges": [[0, 1]], "node_features": [[1, 2], [3, 4]], "target": 0}'


def write(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "mine.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_features(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path, GOOD, GOOD.replace('"target": 0', '"target": "two"')))
    assert (dataset.name, dataset.num_features, dataset.num_classes) == ("mine", 2, 2)
    assert dataset.graphs[0].edge_index.tolist() == [[0, 1], [1, 0]]
    assert dataset.graphs[0].x.tolist() == [[1, 2], [3, 4]]
    assert dataset.labels().tolist() == [0, 1]


def test_labels_are_one_hot_over_all_graphs(tmp_path: Path) -> None:
    one = {"edges": [[0, 1], [1, 0]], "node_labels": ["O", "C"], "target": 1}
    two = {"edges": [], "node_labels": ["N"], "target": 5}
    dataset = load_own(write(tmp_path, json.dumps(one), json.dumps(two)))
    assert dataset.graphs[0].x.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert dataset.graphs[1].x.tolist() == [[0, 1, 0]]
    assert dataset.graphs[0].edge_index.shape == (2, 2)


def test_counted_nodes_get_degrees(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path, '{"edges": [[0, 1], [0, 2]], "num_nodes": 4, "target": 1}'))
    assert dataset.graphs[0].x.argmax(dim=1).tolist() == [2, 1, 1, 0]


def test_edge_features_go_both_ways(tmp_path: Path) -> None:
    line = '{"edges": [[0, 2], [1, 0]], "num_nodes": 3, "edge_features": [[5], [7]], "target": 1}'
    graph = load_own(write(tmp_path, line, line)).graphs[1]
    found = {(u, v): w for (u, v), (w,) in zip(graph.edge_index.t().tolist(), graph.edge_attr.tolist(), strict=True)}
    assert found == {(0, 2): 5, (2, 0): 5, (1, 0): 7, (0, 1): 7}


@pytest.mark.parametrize("columns", [2, 6])
def test_edge_features_of_another_width_are_refused_with_their_line(columns: int, tmp_path: Path) -> None:
    bare = '{"edges": [], "num_nodes": 1, "edge_features": [], "target": 0}'
    lines = [
        f'{{"edges": [[0, 1]], "num_nodes": 2, "edge_features": [{[1] * width}], "target": 1}}'
        for width in (3, columns)
    ]
    with pytest.raises(DataError, match=f"line 3: edge_features have {columns} columns, before 3"):
        load_own(write(tmp_path, bare, *lines))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the line is empty"),
        ('{"edges": [], "num_nodes": "2", "target": 0}', "found '2'"),
        ("[]", "JSON object"),
        ('{"edges": [[0, 1]]', "delimiter"),
        ('{"edges": [[0, 2]], "node_features": [[1, 2], [3, 4]], "target": 0}', "edge 0 names unknown node 2"),
        ('{"edges": [[0, -1]], "node_features": [[1, 2], [3, 4]], "target": 0}', "unknown node -1"),
        ('{"edges": [[0]], "node_features": [[1, 2]], "target": 0}', "pair"),
        ('{"edges": [[0, 1.0]], "node_features": [[1, 2], [3, 4]], "target": 0}', "pair"),
        ('{"edges": [[1, 1]], "node_features": [[1, 2], [3, 4]], "target": 0}', "to itself"),
        ('{"edges": [], "node_features": [[1, 2], [3]], "target": 0}', "row 1 has 1 numbers, row 0 has 2"),
        ('{"edges": [], "node_features": [[1, 2, 3]], "target": 0}', "3 columns, the first graph has 2"),
        ('{"edges": [], "node_features": [[1, NaN]], "target": 0}', "NaN is not a number"),
        ('{"edges": [], "node_features": [[1, 1e999]], "target": 0}', "too large"),
        ('{"edges": [], "node_features": [[1, "a"]], "target": 0}', "not a number"),
        ('{"edges": [], "node_features": [], "target": 0}', "list of rows"),
        ('{"edges": [], "node_labels": ["a"], "target": 0}', "for all graphs or for none"),
        ('{"edges": [], "node_features": [[1, 2]]}', "missing target"),
        ('{"edges": [], "node_features": [[1, 2]], "target": [1]}', "number or a word"),
        ('{"edges": [], "node_features": [[1, 2]], "target": 0, "id": 1.5}', "id must be"),
        ('{"edges": [], "node_features": [[1, 2]], "target": 0, "split": "dev"}', "split must be train"),
        ('{"edges": [], "node_features": [[1, 2]], "target": 0, "split": "val"}', "split must be given for all"),
        ('{"edges": [], "node_features": [[1, 2]], "target": 0, "node_splits": ["val"]}', "node_splits are for"),
        ('{"node_features": [[1, 2]], "target": 0}', "missing edges"),
        ('{"edges": [], "target": 0}', "exactly one of"),
        (
            '{"edges": [], "num_nodes": 99999999999, "target": 0}',
            "99,999,999,999 nodes, more than the limit",
        ),
        ('{"edges": [], "node_features": [[1, 2]], "traget": 0}', "unknown key 'traget'"),
        ('{"edges": [], "edges": [], "node_features": [[1, 2]], "target": 0}', "twice"),
        (b'{"edges": \xff}', "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        (b" " * 10_000_000, "bytes in a line"),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, line: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=rf"mine.jsonl: line 3: .*({message})"):
        load_own(write(tmp_path, GOOD, GOOD, line, GOOD))


def test_numbers_and_several_targets_with_gaps(tmp_path: Path) -> None:
    regress = load_own(write(tmp_path, GOOD, GOOD.replace('"target": 0', '"target": 0.5')))
    assert (regress.objective, regress.labels().tolist()) == ("regress", [[0.0], [0.5]])
    several = [GOOD.replace('"target": 0', f'"target": {{"a": {a}, "b": {b}}}') for a, b in (("1", "0"), ("null", "1"))]
    labels = load_own(write(tmp_path, *several))
    assert (labels.objective, labels.target_names) == ("multilabel", ("a", "b"))
    assert load_own(write(tmp_path, *several), target="b").labels().tolist() == [0, 1]
    with pytest.raises(DataError, match="no target 'c'; targets are a, b"):
        load_own(write(tmp_path, *several), target="c")
    with pytest.raises(DataError, match="line 2: targets are target, the first graph has a, b"):
        load_own(write(tmp_path, several[0], GOOD))


def test_targets_of_nodes(tmp_path: Path) -> None:
    line = '{"edges": [[0, 1], [1, 2]], "num_nodes": 3, "node_targets": ["b", null, "a"]}'
    dataset = load_own(write(tmp_path, line))
    assert (dataset.task, dataset.class_names, dataset.labels().tolist()) == ("node", ("a", "b"), [1, -1, 0])
    for bad, message in (
        ([line, line], "line 2: a node task is a single graph"),
        ([line.replace(", null", "")], "line 1: node_targets must be a list of 3 values"),
        ([line.replace('"edges"', '"target": 1, "edges"')], "either target or node_targets"),
    ):
        with pytest.raises(DataError, match=message):
            load_own(write(tmp_path, *bad))


def test_an_empty_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no graphs"):
        load_own(write(tmp_path))
    with pytest.raises(DataError, match="not found"):
        load_own(tmp_path / "other.jsonl")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
keys = st.sampled_from(["edges", "node_features", "node_labels", "num_nodes", "edge_features", "target"])
likely = st.one_of(json_values, st.integers(-1, 3), st.lists(st.lists(st.integers(-1, 3), max_size=3), max_size=4))
rows = st.one_of(st.dictionaries(keys, likely).map(json.dumps), json_values.map(json.dumps), st.binary(max_size=60))


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(rows, max_size=3))
def test_any_content_is_read_or_refused_in_one_line(lines: list[str | bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            dataset = load_own(write(Path(folder), *lines))
        except DataError as error:
            refused = str(error)
        else:
            refused = ""
            assert all(bool(torch.isfinite(graph.x).all()) for graph in dataset.graphs)
        assert "\n" not in refused


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_written_graphs_come_back(sizes: list[int], seed: int) -> None:
    graphs = [nx.gnp_random_graph(size, 0.4, seed=seed) for size in sizes]
    lines = [
        json.dumps({"edges": [list(edge) for edge in graph.edges], "num_nodes": len(graph), "target": index})
        for index, graph in enumerate(graphs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_own(write(Path(folder), *lines))
    for graph, read in zip(graphs, dataset.graphs, strict=True):
        assert set(map(tuple, read.edge_index.t().tolist())) == set(graph.to_directed().edges)
        assert read.x.argmax(dim=1).tolist() == [degree for _, degree in graph.degree]
