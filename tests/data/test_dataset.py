from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from data_helpers import graph
from torch_geometric.loader import DataLoader

from mshgnn.data import DataError, GraphDataset, from_graphs
from mshgnn.data.dataset import content_checksum


def labelled(*labels: int) -> GraphDataset:
    return from_graphs([graph(y=torch.tensor([label])) for label in labels], name="mine")


def test_it_is_what_a_pyg_user_expects() -> None:
    dataset = labelled(1, 0, 2)
    assert (len(dataset), dataset.num_classes, dataset.num_features, dataset.num_node_features) == (3, 3, 2, 2)
    assert (dataset.num_edge_features, dataset.out_channels, dataset.num_items) == (0, 3, 3)
    assert (dataset.class_names, dataset.target_names) == (("0", "1", "2"), ())
    assert [int(graph.y) for graph in dataset] == [1, 0, 2]
    assert dataset.labels().tolist() == [1, 0, 2]
    assert repr(dataset) == "GraphDataset('mine', 3 graphs, 2 features, 3 classes, classify by accuracy)"


def test_a_node_task_counts_nodes() -> None:
    dataset = from_graphs([graph(y=torch.tensor([0, 1, 0]))], task="node", metric="roc_auc")
    assert (len(dataset), dataset.num_items, dataset.num_classes) == (1, 3, 2)
    assert (dataset.metric, dataset.objective, dataset.out_channels) == ("roc_auc", "rank", 2)
    assert repr(dataset) == "GraphDataset('own', 1 graph of 3 nodes, 2 features, 2 classes, rank by roc_auc)"


@pytest.mark.parametrize("index", [1, -2, np.int64(1), torch.tensor(1), torch.tensor(-2)])
def test_one_graph_by_its_number(index: Any) -> None:
    assert int(labelled(1, 0, 2)[index].y) == 0


@pytest.mark.parametrize(
    ("index", "labels"),
    [
        (slice(1, None), [0, 2]),
        (slice(None, None, -2), [2, 1]),
        ([2, 0, -1], [2, 1, 2]),
        (range(2), [1, 0]),
        ((0, 2), [1, 2]),
        (torch.tensor([2, 1]), [2, 0]),
        (torch.tensor([2], dtype=torch.uint8), [2]),
        (np.array([0, 0]), [1, 1]),
        (torch.tensor([True, False, True]), [1, 2]),
        (np.array([False, True, False]), [0]),
        ([True, True, False], [1, 0]),
        ([], []),
        (torch.tensor([]), []),
        ([False, False, False], []),
    ],
)
def test_a_part_is_a_data_set_of_the_same_kind(index: Any, labels: list[int]) -> None:
    whole = replace(labelled(1, 0, 2), catalogued=True)
    part = whole[index]
    assert [int(graph.y) for graph in part] == part.labels().tolist() == labels
    assert (part.num_classes, part.class_names, part.metric) == (whole.num_classes, whole.class_names, whole.metric)
    assert not part.catalogued  # the split files of the name are not the part's
    assert part.checksum == content_checksum(part.graphs)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([True, False], r"a mask of shape \[2\] for 3 graphs"),
        ([0.5, 1.0], "flat list of whole numbers, not by float"),
        ([[0, 1]], "flat list of whole numbers"),
        ("ab", "numbers, a slice or a mask"),
        (None, "numbers, a slice or a mask"),
        ([0, "b"], "numbers, a slice or a mask"),
    ],
)
def test_what_chooses_nothing_is_refused(index: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        labelled(1, 0, 2)[index]


@pytest.mark.parametrize("index", [3, -4, [0, 3], torch.tensor([-4])])
def test_a_number_too_large_ends_a_loop_as_in_a_list(index: Any) -> None:
    with pytest.raises(IndexError, match="of 3"):
        labelled(1, 0, 2)[index]


def test_it_goes_into_pygs_loader() -> None:
    dataset = labelled(*[0, 1] * 5)
    batches = list(DataLoader(dataset, batch_size=4, shuffle=True))
    assert [batch.num_graphs for batch in batches] == [4, 4, 2]
    assert sorted(torch.cat([batch.y for batch in batches]).tolist()) == [0] * 5 + [1] * 5
    assert next(iter(DataLoader(dataset[torch.tensor([3])]))).y.tolist() == [1]


def test_it_survives_pickling_for_workers() -> None:
    dataset = pickle.loads(pickle.dumps(labelled(1, 0)))
    assert dataset.labels().tolist() == [1, 0]


def test_checksum_follows_the_content_and_only_that() -> None:
    original = from_graphs([graph(), graph()], name="a").checksum
    assert original == from_graphs([graph(), graph()], name="b").checksum
    for change in (
        {"x": torch.full((3, 2), 2.0)},
        {"edge_index": torch.tensor([[0, 2], [2, 0]])},
        {"y": torch.tensor([0])},
    ):
        assert from_graphs([graph(), graph(**change)]).checksum != original


def test_checksum_is_the_same_on_every_machine() -> None:
    assert from_graphs([graph()]).checksum == "ef2f46a0c21a3b49df855262a792be65e3218f65ff88e7812f32cea4c17afef4"


@pytest.mark.parametrize("cell", ["a\nb", "a\r\nb", "a\x0bb", "a\u2028b", "a\x85b"])
def test_words_of_a_file_do_not_break_the_line_of_a_refusal(cell: str) -> None:
    assert str(DataError(f"mine.csv: line 3: {cell!s}: no such atom")) == "mine.csv: line 3: a b: no such atom"
