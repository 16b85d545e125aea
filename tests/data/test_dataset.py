from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from mshgnn.data import DataError, from_graphs


def graph(**changes: object) -> Data:
    parts: dict[str, object] = {
        "x": torch.ones(3, 2),
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
        "y": torch.tensor([1]),
    }
    return Data(**{key: value for key, value in (parts | changes).items() if value is not None})


def test_a_list_of_graphs_becomes_a_dataset() -> None:
    dataset = from_graphs([graph(), graph(y=torch.tensor([2]))], name="mine")
    assert (dataset.name, dataset.task, dataset.num_features, dataset.num_classes) == ("mine", "graph", 2, 3)
    assert (dataset.metric, dataset.edge_dim, dataset.num_items) == ("accuracy", 0, 2)
    assert dataset.labels().tolist() == [1, 2]


def test_a_node_task_counts_nodes() -> None:
    dataset = from_graphs([graph(y=torch.tensor([0, 1, 0]))], task="node", metric="roc_auc")
    assert (dataset.num_items, dataset.num_classes, dataset.metric) == (3, 2, "roc_auc")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (graph(x=None), "graph 1: x must be"),
        (graph(x=torch.ones(3, 2, dtype=torch.float64)), "float32"),
        (graph(x=torch.ones(3, 4)), "4 features, the first graph has 2"),
        (graph(x=torch.tensor([[1.0, float("nan")]] * 3)), "NaN"),
        (graph(x=torch.tensor([[1.0, float("inf")]] * 3)), "infinity"),
        (graph(x=torch.ones(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long)), "no nodes"),
        (graph(edge_index=torch.tensor([[0, 3], [3, 0]])), r"outside 0\.\.2"),
        (graph(edge_index=torch.tensor([[0, -1], [-1, 0]])), r"outside 0\.\.2"),
        (graph(edge_index=torch.tensor([[0, 1, 2]])), "two rows"),
        (graph(edge_index=torch.ones(2, 2)), "int64"),
        (graph(y=None), "missing target"),
        (graph(y=torch.tensor([0.5])), "int64"),
        (graph(y=torch.tensor([0, 1])), r"\[1\]"),
        (graph(y=torch.tensor([-1])), "negative"),
        (graph(edge_attr=torch.ones(2, 1)), "edge_attr"),
    ],
)
def test_what_would_fail_later_is_refused_with_its_position(bad: Data, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_graphs([graph(), bad])


def test_large_finite_features_are_fine() -> None:
    assert from_graphs([graph(x=torch.full((3, 2), 3e38))]).num_features == 2


def test_no_graphs_and_too_many_graphs_are_refused() -> None:
    with pytest.raises(DataError, match="no graphs"):
        from_graphs([])
    with pytest.raises(DataError, match="exactly one graph"):
        from_graphs([graph(), graph()], task="node")


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
