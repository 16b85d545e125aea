from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from data_helpers import shared_root
from hypothesis import example, given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected
from typer.testing import CliRunner

from mshgnn.cli.data import data_app
from mshgnn.data import DataError, GraphDataset, Split, from_graphs, load_own, load_splits
from mshgnn.data.export import export_nodes
from mshgnn.data.transforms import set_degree
from support.mirror import needs_mirror

SPLIT = Split(torch.tensor([0, 3]), torch.tensor([1]), torch.tensor([2]))


def network(**changes: object) -> GraphDataset:
    """Five nodes, of which the last has neither a class nor a part."""
    edges = to_undirected(torch.tensor([[0, 1, 1, 3], [1, 2, 3, 4]]))
    x = torch.tensor([[0.1, 1 / 3], [1e-7, -2.0], [3e7, 0.0], [1.0, 5.5], [0.25, 1e30]])
    content: dict[str, object] = {"x": x, "edge_index": edges, "y": torch.tensor([0, 1, 1, 0, -1])}
    return from_graphs([Data(**(content | changes))], task="node", name="net")


def test_what_is_written_is_read_as_the_same_graph(tmp_path: Path) -> None:
    dataset = network()
    wrote = export_nodes(dataset, SPLIT, tmp_path / "net")
    assert (wrote.nodes, wrote.edges, wrote.features, wrote.directed) == (5, 4, 2, False)
    again = load_own(tmp_path / "net")
    assert again.checksum == dataset.checksum
    (fold,) = load_splits(again).folds
    assert [part.tolist() for part in fold] == [part.tolist() for part in SPLIT]


def test_one_way_edges_and_edge_features_stay(tmp_path: Path) -> None:
    edge_index = torch.tensor([[0, 0, 2], [1, 2, 1]])
    dataset = network(edge_index=edge_index, edge_attr=torch.tensor([[0.5], [1.5], [2.5]]))
    assert export_nodes(dataset, SPLIT, tmp_path / "net").directed
    again = load_own(tmp_path / "net", directed=True)
    assert torch.equal(again.graphs[0].edge_index, edge_index)
    assert torch.equal(again.graphs[0].edge_attr, dataset.graphs[0].edge_attr)


def test_numbers_are_regressed_again_and_blanks_are_missing(tmp_path: Path) -> None:
    y = torch.tensor([[0.5, float("nan")], [1.25, 2.0], [float("nan"), 3.5], [1.0, 1.0], [0.0, 7.5]])
    dataset = network(y=y)
    wrote = export_nodes(dataset, SPLIT, tmp_path / "net")
    again = load_own(tmp_path / "net", target=wrote.target_names)
    assert again.objective == "regress"
    assert torch.equal(again.labels().nan_to_num(-9), y.nan_to_num(-9))


def test_degrees_are_left_to_the_reader(tmp_path: Path) -> None:
    graphs = network().graphs
    set_degree(graphs, 511, "net")
    dataset = replace(from_graphs(graphs, task="node"), degree_columns=graphs[0].x.shape[1])
    assert export_nodes(dataset, SPLIT, tmp_path / "net").features == 0
    assert torch.equal(load_own(tmp_path / "net").graphs[0].x, graphs[0].x)


@example(values=[3.4028234663852886e38, -3.4028234663852886e38, 1e-45, 0.1, 0.0])
@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=5, max_size=5))
def test_every_number_comes_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    folder = tmp_path_factory.mktemp("net") / "net"
    x = torch.tensor(values).unsqueeze(1)
    export_nodes(network(x=x), SPLIT, folder)
    assert torch.equal(load_own(folder).graphs[0].x, x)


def test_what_tables_cannot_hold_is_refused(tmp_path: Path) -> None:
    graphs = from_graphs([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0]))] * 2)
    with pytest.raises(DataError, match="has targets of graphs"):
        export_nodes(graphs, SPLIT, tmp_path / "net")
    loops = network(edge_index=torch.tensor([[0, 1], [0, 2]]))
    with pytest.raises(DataError, match="net: has edges from a node to itself"):
        export_nodes(loops, SPLIT, tmp_path / "net")
    assert not (tmp_path / "net").exists()
    export_nodes(network(), SPLIT, tmp_path / "net")
    with pytest.raises(DataError, match=r"nodes.csv: is there already; choose another folder"):
        export_nodes(network(), SPLIT, tmp_path / "net")


@needs_mirror
def test_the_command_says_how_to_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_DATA", str(shared_root))
    folder = tmp_path / "mines"
    done = CliRunner().invoke(data_app, ["export", "minesweeper", str(folder), "--fold", "2"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "10,000 nodes with 7 features, 39,402 edges" in done.output
    assert f"mshgnn train {folder} --metric roc_auc --target label --split-file {folder}/splits.json" in done.output
    from mshgnn.data import load
    from mshgnn.predictor.splitting import read_splits

    lab, again = load("minesweeper", root=shared_root), load_own(folder, metric="roc_auc")
    assert torch.equal(again.graphs[0].x, lab.graphs[0].x)
    assert torch.equal(again.graphs[0].edge_index, lab.graphs[0].edge_index)
    assert (again.objective, again.metric) == (lab.objective, lab.metric) == ("rank", "roc_auc")
    folds = load_splits(lab).folds
    given = read_splits(folder / "splits.json", range(10_000))
    assert all(torch.equal(a, b) for one, two in zip(folds, given, strict=True) for a, b in zip(one, two, strict=True))
    (own,) = load_splits(again).folds
    assert torch.equal(own.test, folds[2].test)
    with pytest.raises(DataError, match="--fold 10: Minesweeper has 10 folds"):
        CliRunner().invoke(data_app, ["export", "minesweeper", "x", "--fold", "10"], catch_exceptions=False)
