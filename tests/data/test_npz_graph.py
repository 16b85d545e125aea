from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mshgnn.data import DataError, load_any, load_own, load_splits

GRAPH: dict[str, Any] = {
    "node_features": np.array([[0.5, 1], [2, 3], [4, 5], [6, 7.0]]),
    "edges": np.array([[0, 1], [1, 2], [3, 0]]),
    "node_labels": np.array([0, 1, -1, 1]),
}


def write(path: Path, **changes: Any) -> Path:
    np.savez(path, **{key: value for key, value in (GRAPH | changes).items() if value is not None})
    return path


def test_arrays_are_a_graph_whose_nodes_have_classes(tmp_path: Path) -> None:
    dataset = load_own(write(tmp_path / "ring.npz"))
    assert (dataset.name, dataset.task, dataset.objective) == ("ring", "node", "classify")
    assert dataset.labels().tolist() == [0, 1, -1, 1]
    assert dataset[0].x.tolist() == GRAPH["node_features"].tolist()
    pairs = {tuple(pair) for pair in dataset[0].edge_index.t().tolist()}
    assert pairs == {(0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (3, 0)}
    assert load_any(str(tmp_path / "ring.npz")).checksum == dataset.checksum


def test_numbers_are_regressed_and_masks_are_folds(tmp_path: Path) -> None:
    masks = {f"{part}_masks": np.eye(4, dtype=bool)[[row, row - 1]] for part, row in
             (("train", 0), ("val", 1), ("test", 3))}  # fmt: skip
    masks["train_masks"], masks["test_masks"] = np.eye(4, dtype=bool)[[0, 2]], np.eye(4, dtype=bool)[[3, 3]]
    dataset = load_own(write(tmp_path / "g.npz", node_labels=np.array([0.5, 1, 2, 3]), **masks))
    assert dataset.objective == "regress"
    folds = load_splits(dataset).folds
    assert [[part.tolist() for part in fold] for fold in folds] == [[[0], [1], [3]], [[2], [0], [3]]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_labels": None}, "array 'node_labels' is missing"),
        ({"edges": None}, "array 'edges' is missing"),
        ({"edges": np.array([[0, 9]])}, "names a node outside 0..3"),
        ({"node_features": np.array([[np.nan]] * 4)}, "array 'node_features' holds NaN or infinity"),
        ({"node_labels": np.array([1, 2])}, r"labels \(2,\) for 4 nodes"),
        ({"node_labels": np.array(["a", "b", "c", "d"])}, "array 'node_labels' holds <U1, not numbers"),
        ({"node_labels": np.array([{}, {}, {}, {}])}, "array 'node_labels' holds pickled objects"),
    ],
)
def test_bad_arrays_are_one_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_own(write(tmp_path / "g.npz", **changes))


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "g.npz")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="damaged or incomplete"):
        load_own(path)
    with pytest.raises(DataError, match="the option weight w: a file of this kind"):
        load_own(path, weight_column="w")
    assert torch.is_tensor(load_own(write(path))[0].y)
