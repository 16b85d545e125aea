from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import pytest
import torch
from data_helpers import shared_root
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import DataError, load, load_own, load_splits, read_own
from support.mirror import needs_mirror

NODES = "id,age,height,label,split\nann,1,0.5,x,train\nbob,2,0.25,y,train\ncy,3,1e-3,,val\ndee,4,0,x,test\n"
EDGES = "from,to,weight\nann,bob,2\nbob,cy,3\ndee,ann,1\n"


def write(folder: Path, nodes: str = NODES, edges: str = EDGES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    return folder


def test_ids_of_any_kind_features_label_and_split(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path / "friends"))
    graph = dataset[0]
    assert (dataset.name, dataset.task, dataset.class_names) == ("friends", "node", ("x", "y"))
    assert dataset.labels().tolist() == [0, 1, -1, 0]
    assert torch.allclose(graph.x, torch.tensor([[1, 0.5], [2, 0.25], [3, 1e-3], [4, 0]]))
    found = {(u, v): w for (u, v), (w,) in zip(graph.edge_index.t().tolist(), graph.edge_attr.tolist(), strict=True)}
    assert found == {(0, 1): 2, (1, 0): 2, (1, 2): 3, (2, 1): 3, (0, 3): 1, (3, 0): 1}
    assert load_own(tmp_path / "friends" / "nodes.csv").checksum == dataset.checksum
    with pytest.raises(DataError, match="a part is empty"):  # the only validation node has no label
        load_splits(dataset)


def test_one_way_edges_and_left_out_columns(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path), directed=True, ignore=["weight", "age"])
    assert dataset[0].edge_index.tolist() == [[0, 1, 3], [1, 2, 0]]
    assert (dataset.edge_dim, dataset.num_features) == (0, 1)


def test_degrees_where_there_are_no_features_and_numbers_as_targets(tmp_path: Path) -> None:
    path = write(tmp_path, "id,target\n7,0.5\n8,\n9,1\n", "a,b\n7,8\n8,7\n8,9\n")
    dataset = load_own(path)
    assert (dataset.objective, dataset[0].x.argmax(dim=1).tolist()) == ("regress", [1, 2, 1])
    assert dataset.labels().isnan().flatten().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (NODES.replace("bob,2", "ann,2"), EDGES, r"nodes.csv: line 3: column 'id': node 'ann' is on line 2, too"),
        (NODES.replace("bob,2", ",2"), EDGES, r"line 3: column 'id': a node without an id"),
        (NODES.replace("bob,2", "bob,old"), EDGES, r"line 3: column 'age': not a number: 'old'"),
        (NODES.replace("bob,2", "bob,nan"), EDGES, r"line 3: column 'age': not a number: 'nan'"),
        (NODES.replace("bob,2", "bob,1e60"), EDGES, r"not a number: '1e60'"),
        (NODES.replace("val", "dev"), EDGES, r"line 4: column 'split': .*'dev'"),
        (NODES, EDGES.replace("cy", "eve"), r"edges.csv: line 3: column 'to': node 'eve' is not in the table"),
        (NODES, EDGES.replace("bob,cy", "cy,cy"), r"line 3: the edge joins a node to itself"),
        (
            NODES,
            EDGES + "bob,ann,9\n",
            r"line 5: the edge of line 2 again, with other features; if edges go one way, say directed",
        ),
        (NODES, "from\nann\n", "first two columns"),
        ("id,label\n", EDGES, "there are no nodes"),
        (NODES.split("\n", 1)[0].replace("label", "lable") + "\nann,1,2,x,test\n", EDGES, "which column is the target"),
        ("", EDGES, "line 1: there is no header; the file is empty"),
    ],
)
def test_bad_rows_are_refused_with_their_line(tmp_path: Path, nodes: str, edges: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_own(write(tmp_path, nodes, edges))


def test_both_tables_must_be_there_once(tmp_path: Path) -> None:
    (write(tmp_path) / "edges.csv").unlink()
    with pytest.raises(DataError, match=r"expected one table edges.csv, found none"):
        load_own(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "edges.tsv").write_text(EDGES)
    with pytest.raises(DataError, match=r"found edges.csv, edges.tsv"):
        load_own(tmp_path)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(2, 9), seed=st.integers(0, 1000))
def test_written_graphs_come_back(size: int, seed: int) -> None:
    made = nx.gnp_random_graph(size, 0.5, seed=seed)
    nodes = "id,label,x\n" + "".join(f"n{node},{node % 2},{node * 0.5}\n" for node in made)
    edges = "u,v\n" + "".join(f"n{u},n{v}\n" for u, v in made.edges)
    with tempfile.TemporaryDirectory() as folder:
        dataset = load_own(write(Path(folder), nodes, edges))
    assert set(map(tuple, dataset[0].edge_index.t().tolist())) == set(made.to_directed().edges)
    assert dataset[0].x.flatten().tolist() == [node * 0.5 for node in made]


@needs_mirror
def test_a_known_graph_written_as_tables_is_the_same_graph(tmp_path: Path) -> None:
    graph = load("Minesweeper", root=shared_root)[0]
    header = "id," + ",".join(f"f{i}" for i in range(7)) + ",label\n"
    rows = (
        f"{i}," + ",".join(map(repr, x)) + f",{y}\n"
        for i, (x, y) in enumerate(zip(graph.x.tolist(), graph.y.tolist(), strict=True))
    )
    once = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].t().tolist()
    path = write(tmp_path / "mine", header + "".join(rows), "u,v\n" + "".join(f"{u},{v}\n" for u, v in once))
    assert load_own(path).checksum == load("Minesweeper", root=shared_root).checksum


def test_a_schema_scales_features_by_the_training_part(tmp_path: Path) -> None:
    path = write(tmp_path)
    read = read_own(path)
    schema = read.schema.from_training(read.dataset, torch.tensor([0, 1]))
    assert schema.feature_mean == pytest.approx((1.5, 0.375))
    again = load_own(path, schema=schema)
    assert again[0].x[:2].mean(dim=0).abs().max() < 1e-6


def test_a_column_says_how_much_a_node_counts(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path), weight_column="age")
    assert dataset[0].item_weight.tolist() == [1, 2, 3, 4]
    assert dataset.num_features == 1, "the weight is no feature"
