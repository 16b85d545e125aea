"""The degree columns of a training part; labels and numbers are in ``tests/predictor/test_coding.py``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mshgnn.data import GraphDataset, add_encoding, from_graphs
from mshgnn.data.recoding import training_cap, with_training_degrees
from mshgnn.data.transforms import degrees_of, set_degree


def star(leaves: int) -> Data:
    """One centre with so many leaves: its degree is known, the others have degree 1."""
    ends = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)])
    return Data(edge_index=to_undirected(ends), num_nodes=leaves + 1, y=torch.tensor([leaves % 2]))


def of_stars(*leaves: int, cap: int = 100) -> GraphDataset:
    graphs = [star(count) for count in leaves]
    set_degree(graphs, cap, "stars")
    return replace(from_graphs(graphs, name="stars", num_classes=2), degree_columns=int(graphs[0].x.shape[1]))


def test_a_degree_that_only_other_graphs_have_shares_the_last_column_of_the_training_part() -> None:
    dataset = with_training_degrees(of_stars(2, 3, 9), torch.tensor([0, 1]))
    assert (dataset.num_features, dataset.degree_columns) == (4, 4)
    assert [int(graph.x[0].argmax()) for graph in dataset] == [2, 3, 3]
    assert all(torch.equal(graph.x.sum(dim=1), torch.ones(len(graph.x))) for graph in dataset)


def test_a_training_part_with_all_degrees_leaves_the_data_set_as_it_is() -> None:
    dataset = of_stars(2, 3, 9)
    assert with_training_degrees(dataset, torch.tensor([2])) is dataset
    plain = replace(dataset, degree_columns=0)
    assert with_training_degrees(plain, torch.tensor([0])) is plain
    assert training_cap(plain, torch.tensor([0])) == -1
    beyond = of_stars(2, 6, 9, cap=5)  # 6 and 9 share a column in the whole set
    assert with_training_degrees(beyond, torch.tensor([1])) is beyond


@given(
    leaves=st.lists(st.integers(1, 12), min_size=2, max_size=6),
    data=st.data(),
)
def test_other_graphs_change_nothing_for_the_training_part(leaves: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(leaves) - 1))
    others = data.draw(st.permutations(leaves[count:]))
    train = torch.arange(count)
    cut = with_training_degrees(of_stars(*leaves), train)
    for order in (others, [*others, 20]):
        again = with_training_degrees(of_stars(*leaves[:count], *order), train)
        assert again.num_features == cut.num_features == max(leaves[:count]) + 1
        assert all(torch.equal(again.graphs[item].x, cut.graphs[item].x) for item in range(count))


def test_columns_after_the_degrees_stay(tmp_path: Path) -> None:
    whole = add_encoding(of_stars(2, 3, 9), "rwpe", 2, root=tmp_path)
    cut = with_training_degrees(whole, torch.tensor([0, 1]))
    assert (whole.num_features, cut.num_features) == (10 + 2, 4 + 2)
    for before, after in zip(whole, cut, strict=True):
        assert torch.equal(before.x[:, 10:], after.x[:, 4:])
        assert torch.equal(after.x[:, :4].argmax(dim=1), degrees_of(before).clamp(max=3))


def test_nodes_of_a_training_part_decide_in_one_graph() -> None:
    (graph,) = graphs = [star(5)]
    set_degree(graphs, 100, "star")
    graph.y = torch.tensor([0, 1, 0, 1, 0, 1])
    dataset = replace(from_graphs(graphs, task="node"), degree_columns=6)
    assert with_training_degrees(dataset, torch.tensor([1, 2])).num_features == 2
    assert with_training_degrees(dataset, torch.tensor([0, 2])) is dataset


@pytest.mark.parametrize("columns", [4, 10])
def test_the_whole_data_set_is_not_changed(columns: int) -> None:
    dataset = of_stars(2, columns - 1)
    before = [graph.x.clone() for graph in dataset]
    with_training_degrees(dataset, torch.tensor([0]))
    assert all(torch.equal(graph.x, x) for graph, x in zip(dataset, before, strict=True))
