from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from data_helpers import graph
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import FakeDataset

from mshgnn.data import DataError, from_graphs, load_splits


@pytest.mark.parametrize(
    "changes",
    [
        {"x": torch.ones(3, 2, dtype=torch.float64)},
        {"x": torch.ones(3, 2, dtype=torch.long)},
        {"x": torch.ones(3, 2, dtype=torch.bool)},
        {"x": torch.ones(3, 2, dtype=torch.bfloat16)},
        {"x": np.ones((3, 2))},
        {"x": torch.ones(3, 2, requires_grad=True)},
        {"edge_index": torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)},
        {"edge_index": EdgeIndex([[0, 1], [1, 0]])},
        {"y": 1},
        {"y": 1.0},
        {"y": torch.tensor(1)},
        {"y": torch.tensor([1], dtype=torch.int8)},
        {"y": torch.tensor([[1.0]])},
        {"y": torch.tensor([True])},
        {"y": np.array([1])},
    ],
)
def test_harmless_forms_are_the_same_data(changes: dict[str, object]) -> None:
    given, expected = graph(**changes), from_graphs([graph()])
    before = {key: type(value) for key, value in given.to_dict().items()}
    dataset = from_graphs([given])
    assert dataset.checksum == expected.checksum
    assert (dataset[0].x.dtype, dataset[0].edge_index.dtype, dataset[0].y.dtype) == (
        torch.float32,
        torch.int64,
        torch.int64,
    )
    assert {key: type(value) for key, value in given.to_dict().items()} == before  # the user's graph is untouched


def test_graphs_in_the_right_form_are_kept_as_they_are() -> None:
    given = graph()
    assert from_graphs([given])[0] is given
    assert from_graphs(given)[0] is given


def test_one_column_may_come_flat() -> None:
    dataset = from_graphs([graph(x=torch.ones(3), edge_attr=torch.tensor([True, False]))])
    assert (dataset.num_features, dataset.edge_dim) == (1, 1)
    assert dataset[0].edge_attr.tolist() == [[1.0], [0.0]]


def test_edge_weights_become_edge_features() -> None:
    weighted = graph(edge_weight=torch.tensor([2.0, 3.0]))
    assert from_graphs([weighted])[0].edge_attr.tolist() == [[2.0], [3.0]]
    assert "edge_weight" in weighted
    both = from_graphs([graph(edge_attr=torch.zeros(2, 1), edge_weight=torch.tensor([2, 3]))])
    assert both[0].edge_attr.tolist() == [[0.0, 2.0], [0.0, 3.0]]


@pytest.mark.parametrize("empty", [torch.empty(2, 0), torch.tensor([[], []]), torch.empty(0), []])
def test_no_edges_in_any_form(empty: object) -> None:
    assert from_graphs([graph(edge_index=empty)])[0].edge_index.shape == (2, 0)


@pytest.mark.parametrize(
    ("targets", "objective", "metric", "out_channels"),
    [
        ([0.5, 2.0], "regress", "rmse", 1),
        ([[[0.5, 1.0]], [[2.0, float("nan")]]], "regress", "rmse", 2),
        ([[[0.0, 1.0]], [[1.0, float("nan")]]], "multilabel", "roc_auc", 2),
        ([[[0, 1, 1]], [[1, 0, 1]]], "multilabel", "roc_auc", 3),
        ([0.0, 1.0], "classify", "accuracy", 2),
        ([3, 1], "classify", "accuracy", 4),
    ],
)
def test_the_targets_decide_the_objective(targets: list[Any], objective: str, metric: str, out_channels: int) -> None:
    dataset = from_graphs([graph(y=torch.tensor(target)) for target in targets])
    assert (dataset.objective, dataset.metric, dataset.out_channels) == (objective, metric, out_channels)
    if objective in ("regress", "multilabel"):
        assert dataset.labels().dtype == torch.float32
        assert dataset[0].y.shape == (1, out_channels)
        assert dataset.target_names == (
            ("target",) if out_channels == 1 else tuple(f"target_{i}" for i in range(out_channels))
        )


def test_an_objective_or_a_metric_can_be_named() -> None:
    whole = [graph(y=torch.tensor([value])) for value in (0, 1)]
    assert from_graphs(whole, objective="regress").labels().tolist() == [[0.0], [1.0]]
    assert from_graphs(whole, metric="mae").objective == "regress"
    assert from_graphs(whole, metric="average_precision").objective == "rank"
    assert from_graphs(whole, metric="f1").objective == "classify"
    labels = [graph(y=torch.tensor([[0, 1]])), graph(y=torch.tensor([[1, 0]]))]
    assert from_graphs(labels, metric="roc_auc").objective == "multilabel"
    named = from_graphs(labels, target_names=["a", "b"])
    assert named.target_names == ("a", "b")
    assert "2 targets, multilabel by roc_auc" in repr(named)
    assert from_graphs(whole, class_names=("no", "yes")).class_names == ("no", "yes")


def test_whole_numbers_as_floats_are_a_question_when_there_are_many() -> None:
    graphs = [graph(y=torch.tensor([float(value)])) for value in range(30)]
    with pytest.raises(DataError, match=r"30 different whole numbers: say .* objective='regress'"):
        from_graphs(graphs)
    assert from_graphs(graphs, objective="regress").out_channels == 1
    assert from_graphs(graphs, objective="classify").num_classes == 30


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"metric": "auc"}, r"unknown metric 'auc'; did you mean 'roc_auc'\?"),
        ({"objective": "classify", "metric": "rmse"}, "valid: accuracy, balanced_accuracy, f1"),
        ({"objective": "regress", "metric": "accuracy"}, "valid: rmse, mae, r2"),
        ({"objective": "clasify"}, "did you mean 'classify'"),
        ({"num_classes": 1}, "only 1 classes"),
        ({"class_names": ("a",)}, "only 1 classes"),
        ({"class_names": ("a", "a")}, "2 different names"),
        ({"num_classes": 3, "metric": "roc_auc"}, "ranks two classes, not 3"),
        ({"objective": "regress", "num_classes": 2}, "has no classes"),
        ({"objective": "regress", "target_names": ("a", "b")}, "1 targets need 1"),
        ({"task": "edge"}, "'graph' or 'node'"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused_with_what_does(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_graphs([graph(), graph(y=torch.tensor([0]))], **wish)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (graph(x=None), "graph 1: x must be .* missing, and so is num_nodes"),
        (graph(x=None, num_nodes=3), "graph 1: x must be there for all graphs or for none; the first graph has it"),
        (graph(x=None, num_nodes=3, z=torch.ones(3)), "graph 1: x must be .* missing, and nodes have z"),
        (graph(x=torch.ones(3, 2).to_sparse()), "dense tensor"),
        (graph(x=torch.ones(3, 2, 2)), r"\[3, 2, 2\]"),
        (graph(x=torch.ones(3, 2, dtype=torch.complex64)), "dense"),
        (graph(x=["a", "b"]), "x must hold numbers, not a list"),
        (graph(x=torch.ones(3, 4)), "4 features, the first graph has 2"),
        (graph(x=torch.ones(3, 0)), "no columns"),
        (graph(x=torch.tensor([[1.0, float("nan")]] * 3)), "NaN"),
        (graph(x=torch.tensor([[1.0, float("inf")]] * 3)), "infinity"),
        (graph(x=torch.full((3, 2), 1e300, dtype=torch.float64)), "infinity"),
        (graph(x=torch.ones(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long)), "no nodes"),
        (graph(edge_index=None), "edge_index must be .* missing"),
        (graph(edge_index=torch.tensor([[0, 3], [3, 0]])), r"outside 0\.\.2"),
        (graph(edge_index=torch.tensor([[0, -1], [-1, 0]])), r"outside 0\.\.2"),
        (graph(edge_index=torch.tensor([[0, 1, 2]])), "two rows"),
        (graph(edge_index=torch.tensor([0, 1])), "int64"),
        (graph(edge_index=torch.ones(2, 2)), "int64"),
        (graph(y=None), "missing target"),
        (graph(y=torch.tensor([0, 1])), r"\[1\]"),
        (graph(y=torch.tensor([0, 1, 1])), "task='node'"),
        (graph(y=torch.tensor([])), r"not \[0\]"),
        (graph(y="yes"), "y must hold numbers, not a str"),
        (graph(y=torch.tensor([-1])), "graph 1: a target is negative: -1"),
        (graph(y=torch.tensor([float("inf")])), "infinite"),
        (graph(y=torch.tensor([[1, 0]])), "2 targets, the first graph has 1"),
        (graph(edge_attr=torch.ones(2, 1)), "edge_attr"),
        (graph(edge_attr=torch.ones(3, 1)), "3 rows for 2 edges"),
        (graph(edge_weight=torch.tensor([1.0, float("nan")])), "edge_weight holds NaN"),
        (HeteroData(), "not a HeteroData"),
        ({"x": 1}, "not a dict"),
        (None, "not a NoneType"),
    ],
)
def test_what_would_fail_later_is_refused_with_its_position(bad: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_graphs([graph(), bad])


def test_large_finite_features_are_fine() -> None:
    assert from_graphs([graph(x=torch.full((3, 2), 3e38))]).num_features == 2


def test_no_graphs_and_too_many_graphs_are_refused() -> None:
    with pytest.raises(DataError, match="no graphs"):
        from_graphs([])
    with pytest.raises(DataError, match="expected a list of graphs, not a int"):
        from_graphs(3)
    with pytest.raises(DataError, match="exactly one graph"):
        from_graphs([graph(), graph()], task="node")


def nodes(y: object, **more: object) -> Data:
    count = 12
    return Data(x=torch.ones(count, 1), edge_index=torch.empty(2, 0, dtype=torch.long), y=y, **more)


def test_flat_masks_that_leave_nodes_out_and_nodes_without_a_label() -> None:
    y = torch.tensor([0, 1] * 5 + [-1, -1])
    masks = [torch.zeros(12, dtype=torch.bool) for _ in range(3)]
    for mask, chosen in zip(masks, ([0, 1, 10], [2, 3], [4, 5, 11]), strict=True):
        mask[chosen] = True
    given = nodes(y, train_mask=masks[0], val_mask=masks[1].byte(), test_mask=masks[2])
    dataset = from_graphs(given, task="node")
    assert dataset.num_classes == 2
    splits = load_splits(dataset)
    assert [part.tolist() for part in splits.folds[0]] == [[0, 1], [2, 3], [4, 5]]
    own = load_splits(dataset, "own")
    assert all(sorted(torch.cat(list(fold)).tolist()) == list(range(10)) for fold in own.folds)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"train_mask": torch.ones(12, dtype=torch.bool)}, "val_mask must be a mask .* missing"),
        ({key: torch.ones(5).bool() for key in ("train_mask", "val_mask", "test_mask")}, r"mask \[12\] .*\[5\]"),
        (
            {"train_mask": torch.eye(12).bool(), "val_mask": torch.eye(12).bool(), "test_mask": torch.ones(12).bool()},
            "12, 12, 1 folds",
        ),
        ({key: torch.ones(12).bool() for key in ("train_mask", "val_mask", "test_mask")}, "more than once"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_splits(from_graphs(nodes(torch.tensor([0, 1] * 6), **masks), task="node"))


def test_numbers_at_nodes_with_gaps() -> None:
    y = torch.linspace(0, 1, 12)
    y[3] = float("nan")
    dataset = from_graphs(nodes(y), task="node")
    assert (dataset.objective, dataset.labels().shape) == ("regress", (12, 1))
    assert all(3 not in torch.cat(list(fold)).tolist() for fold in load_splits(dataset).folds)


def test_nodes_need_a_label_somewhere() -> None:
    for bad, message in ((torch.full((12,), -1), "no node has a label"), (torch.full((12,), -2), "negative: -2")):
        with pytest.raises(DataError, match=message):
            from_graphs(nodes(bad), task="node")


def test_networkx_graphs() -> None:
    made = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(made, {"a": [1.0, 0], "b": [0, 1.0], "c": [0, 0.0]}, "x")
    nx.set_edge_attributes(made, 2.5, "weight")
    made.graph["y"] = 1
    dataset = from_graphs([made])
    assert dataset[0].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (dataset[0].x.tolist(), dataset[0].edge_attr.tolist()) == ([[1, 0], [0, 1], [0, 0]], [[2.5]] * 4)
    made.graph["y"] = [0.5, 1.5, 2.0]
    assert from_graphs(made).out_channels == 3
    del made.graph["y"]
    nx.set_node_attributes(made, {"a": 0, "b": 1, "c": 1}, "y")
    assert from_graphs(made, task="node").labels().tolist() == [0, 1, 1]


def test_graphs_without_features_get_their_degrees() -> None:
    star, path = nx.star_graph(3), nx.path_graph(4)
    star.graph["y"], path.graph["y"] = 0, 1
    dataset = from_graphs([star, path])
    assert (dataset.num_features, dataset.degree_columns) == (4, 4)
    assert [graph.x.argmax(dim=1).tolist() for graph in dataset] == [[3, 1, 1, 1], [1, 2, 2, 1]]
    lonely = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3, y=torch.tensor([0, 1, 0]))
    nodes = from_graphs(lonely, task="node")
    assert nodes[0].x.tolist() == [[0, 1], [0, 1], [1, 0]]
    assert "x" not in lonely, "the given graph stays as it is"
    assert from_graphs([graph()]).degree_columns == 0


def test_networkx_graphs_that_do_not_fit_are_refused_in_a_sentence() -> None:
    named, mixed = nx.path_graph(2), nx.path_graph(2)
    nx.set_node_attributes(named, {0: 30, 1: 41}, "age")
    nx.set_node_attributes(named, {0: "a", 1: "b"}, "club")
    mixed.nodes[0]["x"] = 1.0
    for bad, message in (
        (named, "x must be .* it is missing, and nodes have age, club: put into x what the model shall see"),
        (mixed, "same attributes"),
        (nx.Graph(), "no nodes"),
        (nx.path_graph(2), "y is missing"),
    ):
        with pytest.raises(DataError, match=f"graph 0: .*{message}"):
            from_graphs([bad])
    for odd in ("three", None, 2.5, -1, 0, 10**9):
        with pytest.raises(DataError, match="graph 0: "):
            from_graphs([Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=odd, y=1)])


def test_a_pyg_data_set() -> None:
    given = FakeDataset(num_graphs=6, num_channels=5, num_classes=3, edge_dim=2)
    dataset = from_graphs(given, num_classes=3)
    assert (len(dataset), dataset.num_features, dataset.num_edge_features) == (6, 5, 2)
    one = FakeDataset(num_graphs=1, task="node", num_classes=4)
    assert from_graphs(one, task="node").num_items == one[0].num_nodes


values = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.lists(st.one_of(st.integers(-1, 3), st.floats(-2, 2)), max_size=3), max_size=3),
    st.builds(
        lambda shape, dtype: torch.ones(shape, dtype=dtype),
        st.lists(st.integers(0, 3), max_size=3),
        st.sampled_from([torch.float64, torch.long, torch.bool, torch.int32, torch.complex64, torch.uint8]),
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    changes=st.dictionaries(st.sampled_from(["x", "edge_index", "y", "edge_attr", "edge_weight"]), values, max_size=3),
    task=st.sampled_from(["graph", "node"]),
)
def test_any_graph_is_taken_or_refused_in_one_line(changes: dict[str, object], task: Any) -> None:
    try:
        dataset = from_graphs([graph(**changes)], task=task)
    except DataError as error:
        refused = str(error)
    else:
        refused = ""
        assert dataset[0].x.dtype == torch.float32
        assert bool(dataset[0].x.isfinite().all())
    assert "\n" not in refused
