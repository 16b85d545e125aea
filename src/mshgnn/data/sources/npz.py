"""The two kinds of npz files of node sets, checked and read: sparse matrices, and the heterophilous graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data
from torch_geometric.io.npz import parse_npz
from torch_geometric.utils import to_undirected

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import FLOAT, check_limit
from mshgnn.data.sources.archives import read_npz

Arrays = dict[str, npt.NDArray[np.generic]]
_SPARSE = {"data": "fiub", "indices": "iu", "indptr": "iu", "shape": "iu"}
_SPARSE_ARRAYS = {f"{part}_{key}": kinds for part in ("adj", "attr") for key, kinds in _SPARSE.items()}
_MASKS = {"train_mask": "train_masks", "val_mask": "val_masks", "test_mask": "test_masks"}


def read_sparse(path: Path) -> Data:
    """Amazon and Coauthor graphs: adjacency and features as CSR, by PyG's parser after checks of its own input."""
    arrays = read_npz(path, _SPARSE_ARRAYS | {"labels": "iu"})
    nodes, _ = _check_csr(path, arrays, "adj")
    rows, columns = _check_csr(path, arrays, "attr")
    if nodes != rows or arrays["adj_shape"][1] != nodes or arrays["labels"].shape != (nodes,):
        raise DataError(f"{path}: {nodes} nodes, {rows} rows of features and {len(arrays['labels'])} labels")
    check_limit("memory", 2 * FLOAT * rows * columns, path)  # PyG's parser makes a dense copy on the way
    return parse_npz(arrays)


def read_heterophilous(path: Path) -> Data:
    """The heterophilous graphs: dense features, undirected edges listed once, and masks ``[folds, nodes]``."""
    masks = dict.fromkeys(_MASKS.values(), "b")
    arrays = read_npz(path, {"node_features": "fiub", "node_labels": "iu", "edges": "iu", **masks})
    edges, labels = arrays["edges"], arrays["node_labels"]
    nodes = len(labels)
    if edges.ndim != 2 or edges.shape[1] != 2 or labels.ndim != 1 or len(arrays["node_features"]) != nodes:
        raise DataError(f"{path}: edges {edges.shape}, labels {labels.shape}: not a graph")
    if edges.size and not (int(edges.min()) >= 0 and int(edges.max()) < nodes):
        raise DataError(f"{path}: array 'edges' names a node outside 0..{nodes - 1}")
    if any(arrays[key].ndim != 2 or arrays[key].shape[1] != nodes for key in masks):
        raise DataError(f"{path}: masks must be [folds, {nodes}]")
    edge_index = torch.from_numpy(edges.astype(np.int64)).t().contiguous()
    return Data(
        x=torch.from_numpy(arrays["node_features"].astype(np.float32)),
        y=torch.from_numpy(labels.astype(np.int64)),
        edge_index=to_undirected(edge_index, num_nodes=nodes),
        **{mask: torch.from_numpy(arrays[key]).t().contiguous() for mask, key in _MASKS.items()},
    )


def _check_csr(path: Path, arrays: Arrays, part: str) -> tuple[int, int]:
    """The shape of a CSR matrix whose indices all lie inside it; scipy's fast paths would not look."""
    data, indices, indptr, shape = (arrays[f"{part}_{key}"].astype(np.int64) for key in _SPARSE)
    fits = (
        shape.shape == (2,)
        and data.ndim == indices.ndim == indptr.ndim == 1
        and bool((shape >= 0).all())
        and len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and bool((np.diff(indptr) >= 0).all())
        and bool(((indices >= 0) & (indices < shape[1])).all())
    )
    if not fits:
        raise DataError(f"{path}: arrays {part}_* are not a sparse matrix")
    return int(shape[0]), int(shape[1])
