from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from data_helpers import shared_root
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mshgnn.data import (
    DataError,
    GraphDataset,
    Split,
    Splits,
    StructureFrequencyDataset,
    from_graphs,
    load,
    load_splits,
)
from mshgnn.data.catalogue import CATALOGUE, PAPER_SETS
from mshgnn.data.splits import check_splits, fold_assignment
from support.mirror import needs_mirror

FAIR = ("PROTEINS", "NCI1", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY")


def labelled(name: str, labels: list[int], *, catalogued: bool = False) -> GraphDataset:
    graphs = [
        Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([label]))
        for label in labels
    ]
    return replace(from_graphs(graphs, name=name), catalogued=catalogued)


def assert_divides(splits: Splits, count: int) -> None:
    for fold in splits.folds:
        assert sorted(torch.cat(list(fold)).tolist()) == list(range(count))


def spread(splits: Splits, dataset: GraphDataset) -> torch.Tensor:
    """Most minus fewest of each class in the test folds."""
    counts = [torch.bincount(dataset.labels()[fold.test], minlength=dataset.num_classes) for fold in splits.folds]
    stacked = torch.stack(counts)
    return stacked.amax(dim=0) - stacked.amin(dim=0)


@needs_mirror
@pytest.mark.parametrize("name", FAIR)
def test_the_given_folds_are_stratified_for_our_order_of_graphs(name: str) -> None:
    dataset = load(name, root=shared_root)
    splits = load_splits(dataset)
    assert (splits.source, len(splits.folds)) == ("fair-comparison", 10)
    assert_divides(splits, len(dataset.graphs))
    tests = torch.cat([fold.test for fold in splits.folds])
    assert sorted(tests.tolist()) == list(range(len(dataset.graphs)))
    assert int(spread(splits, dataset).max()) <= 1


@given(st.integers(10, 60), st.integers(2, 3))
@settings(max_examples=20, deadline=None)
def test_cross_validation_trains_on_all_that_is_not_test(count: int, classes: int) -> None:
    dataset = labelled("mine", [index % classes for index in range(count)])
    given_folds, joined = load_splits(dataset), load_splits(dataset, "cross-validation")
    assert joined.source == "cross-validation"
    assert joined.checksum != given_folds.checksum
    assert_divides(joined, count)
    for fold, before in zip(joined.folds, given_folds.folds, strict=True):
        assert len(fold.validation) == 0
        assert torch.equal(fold.test, before.test)


@needs_mirror
def test_tuned_splits_and_the_largest_component() -> None:
    full = load("AmazonPhoto", root=shared_root)
    component = load("AmazonPhoto", largest_component=True, root=shared_root)
    of_full, of_component = load_splits(full), load_splits(component)
    assert of_full.source == of_component.source == "tuned"
    assert [len(part) for part in of_full.folds[0]] == [4590, 1530, 1530]
    assert_divides(of_component, 7487)
    # A node keeps its part: its original number is in the same part of the full graph's split.
    original = component.graphs[0].n_id
    for part, full_part in zip(of_component.folds[0], of_full.folds[0], strict=True):
        assert set(original[part].tolist()) <= set(full_part.tolist())
        assert torch.equal(full.graphs[0].y[original[part]], component.graphs[0].y[part])


@needs_mirror
def test_the_ten_splits_inside_minesweeper() -> None:
    dataset = load("Minesweeper", root=shared_root)
    splits = load_splits(dataset)
    assert (splits.source, len(splits.folds)) == ("inside", 10)
    assert [len(part) for part in splits.folds[3]] == [5000, 2500, 2500]
    assert torch.equal(splits.folds[3].test, dataset.graphs[0].test_mask[:, 3].nonzero().flatten())
    whole = load_splits(load("Minesweeper", largest_component=True, root=shared_root))
    assert whole.checksum == splits.checksum  # it is connected


@needs_mirror
@pytest.mark.parametrize("name", [name for name in PAPER_SETS if name not in ("COLLAB", "CoauthorPhysics")])
def test_every_set_has_the_packages_own_stratified_splits(name: str) -> None:
    dataset = load(name, root=shared_root)
    splits = load_splits(dataset, "own")
    assert len(splits.folds) == (10 if dataset.task == "graph" else 5)
    assert_divides(splits, dataset.num_items)
    assert int(spread(splits, dataset).max()) <= 1
    path = resources.files("mshgnn.data") / "split_files" / f"{name}.json"
    kept = json.loads(path.read_text())["assignment"]
    assert kept == fold_assignment(dataset.labels(), len(splits.folds))


def test_own_split_files_are_there_and_small() -> None:
    folder = resources.files("mshgnn.data") / "split_files"
    files = {file.name: len(file.read_bytes()) for file in folder.iterdir()}
    wanted = {*PAPER_SETS, *(name for name in CATALOGUE if name.startswith("structure-frequency"))}
    assert set(files) == {f"{name}.json" for name in wanted}
    assert sum(files.values()) < 200_000


def test_the_joint_task_is_divided_like_other_graph_sets() -> None:
    dataset = load("structure-frequency-fixed")
    splits = load_splits(dataset)
    assert (splits.source, len(splits.folds)) == ("own", 10)
    assert [len(part) for part in splits.folds[0]] == [2400, 300, 300]
    assert torch.bincount(dataset.labels()[splits.folds[2].validation]).tolist() == [10] * 30
    smaller = StructureFrequencyDataset.variant("fixed", graphs_per_class=5).generate()
    assert [len(part) for part in load_splits(smaller).folds[0]] == [120, 15, 15]


@settings(max_examples=50, deadline=None)
@given(labels=st.lists(st.integers(0, 3), min_size=10, max_size=60))
def test_a_users_graphs_are_divided_on_the_spot(labels: list[int]) -> None:
    dataset = labelled("mine", labels)
    splits = load_splits(dataset)
    assert_divides(splits, len(labels))
    assert int(spread(splits, dataset).max()) <= 1
    assert load_splits(dataset).checksum == splits.checksum


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (range(16), [], "a part is empty"),
        (range(16), [18, 19, 20], r"outside 0\.\.19"),
        (range(-1, 16), [18, 19], r"outside 0\.\.19"),
        (range(17), [18, 19], "16 is there more than once"),
        (range(1, 16), [18, 19], "0 is in no part"),
    ],
)
def test_splits_that_do_not_fit_are_refused(train: Sequence[int], test: Sequence[int], message: str) -> None:
    dataset = labelled("mine", [0, 1] * 10)
    fold = Split(*(torch.LongTensor(list(part)) for part in (train, [16, 17], test)))
    with pytest.raises(DataError, match=message):
        check_splits(dataset, [fold], "own")


def test_too_few_graphs_are_told_how_many_are_needed() -> None:
    with pytest.raises(DataError, match="need at least 10 graphs, not 9"):
        load_splits(labelled("mine", [0, 1, 0] * 3))


def test_no_folds_at_all() -> None:
    with pytest.raises(DataError, match="no folds"):
        check_splits(labelled("mine", [0, 1] * 10), [], "own")


def test_package_splits_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="MUTAG: own splits"):
        load_splits(labelled("MUTAG", [0, 1] * 10, catalogued=True), "own")


def test_own_graphs_in_a_file_named_like_a_known_set_get_their_own_splits() -> None:
    labels = [0, 1] * 10
    assert load_splits(labelled("MUTAG", labels)).checksum == load_splits(labelled("mine", labels)).checksum


def test_own_nodes_that_carry_original_numbers() -> None:
    edges = torch.empty(2, 0, dtype=torch.long)
    graph = Data(x=torch.ones(30, 1), edge_index=edges, y=torch.arange(30) % 2, n_id=torch.arange(5, 35))
    assert_divides(load_splits(from_graphs([graph], task="node")), 30)


def test_unknown_and_missing_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = labelled("NCI1", [0, 1] * 10, catalogued=True)
    with pytest.raises(DataError, match="'random'"):
        load_splits(dataset, "random")
    monkeypatch.delenv("MSHGNN_MIRROR", raising=False)
    with pytest.raises(DataError, match="beside MSHGNN_MIRROR"):
        load_splits(dataset, "fair-comparison")
    with pytest.raises(DataError, match="no splits inside"):
        load_splits(dataset, "inside")


@pytest.mark.parametrize("content", ["", "{}", "[{}]", "[1]", '[{"test": [0], "model_selection": []}]', "\udcff"])
def test_a_damaged_split_file_is_refused(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror").mkdir()
    folder = tmp_path / "splits" / "fair_comparison"
    folder.mkdir(parents=True)
    (folder / "NCI1.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(DataError, match="NCI1"):
        load_splits(labelled("NCI1", [0, 1] * 10, catalogued=True))


def test_a_split_file_of_another_data_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "splits").mkdir()
    np.savez(tmp_path / "splits" / "tuned_amazon_photo.npz", train=[0, 1], valid=[2], test=[3])
    monkeypatch.setenv("MSHGNN_MIRROR", str(tmp_path / "mirror"))
    graph = Data(x=torch.ones(5, 1), edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([0, 1, 0, 1, 0]))
    with pytest.raises(DataError, match="4 is in no part"):
        load_splits(replace(from_graphs([graph], name="AmazonPhoto", task="node"), catalogued=True))
