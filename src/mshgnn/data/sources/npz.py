"""The two kinds of npz files of node sets, checked and read: sparse matrices, and the heterophilous graphs."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data
from torch_geometric.io.npz import parse_npz
from torch_geometric.utils import coalesce, to_undirected

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import FLOAT, check_limit, check_nodes, size_of
from mshgnn.data.sources.archives import names_in_npz, read_npz

Arrays = dict[str, npt.NDArray[np.generic]]
_SPARSE = {"data": "fiub", "indices": "iu", "indptr": "iu", "shape": "iu"}
_SPARSE_ARRAYS = {f"{part}_{key}": kinds for part in ("adj", "attr") for key, kinds in _SPARSE.items()}
_MASKS = {"train_mask": "train_masks", "val_mask": "val_masks", "test_mask": "test_masks"}


def read_sparse(path: Path, *, directed: bool = False) -> Data:
    """Amazon and Coauthor graphs: adjacency and features as CSR, by PyG's parser after checks of its own input."""
    arrays = read_npz(path, _SPARSE_ARRAYS | {"labels": "iu"})
    nodes, _ = _check_csr(path, arrays, "adj")
    rows, columns = _check_csr(path, arrays, "attr")
    if nodes != rows or arrays["adj_shape"][1] != nodes or arrays["labels"].shape != (nodes,):
        raise DataError(f"{path}: {nodes} nodes, {rows} rows of features and {len(arrays['labels'])} labels")
    check_nodes(nodes, size_of(path), path)
    check_limit("memory", 2 * FLOAT * rows * columns, path)  # PyG's parser makes a dense copy on the way
    return parse_npz(arrays, to_undirected=not directed)


def read_own_npz(path: Path, *, directed: bool = False) -> Data:
    """A graph in either layout; of the second one, labels and masks may be left out."""
    there = names_in_npz(path)
    if "adj_data" in there:
        return read_sparse(path, directed=directed)
    return read_heterophilous(path, there, "fiub", directed=directed)


def read_heterophilous(
    path: Path,
    there: Set[str] = frozenset({"node_labels", *_MASKS.values()}),
    kinds: str = "iu",
    *,
    directed: bool = False,
) -> Data:
    """The heterophilous graphs: dense features, undirected edges listed once, and masks ``[folds, nodes]``.

    ``there`` names the arrays to expect besides features and edges; ``kinds`` are those of the labels, ``[nodes]`` or
    ``[nodes, T]``.
    """
    masks = {key: "b" for key in _MASKS.values() if key in there}
    wanted = {"node_labels": kinds} if "node_labels" in there else {}
    arrays = read_npz(path, {"node_features": "fiub", "edges": "iu", **wanted, **masks}, blanks="node_labels")
    features, edges = arrays["node_features"], arrays["edges"]
    nodes = len(features) if features.ndim else 0
    labels = arrays.get("node_labels")
    check_nodes(nodes, size_of(path), path)
    if edges.ndim != 2 or edges.shape[1] != 2 or features.ndim != 2 or not features.shape[1]:
        raise DataError(f"{path}: edges {edges.shape}, features {features.shape}: not a graph")
    if labels is not None and (labels.ndim not in (1, 2) or len(labels) != nodes or not labels.size):
        raise DataError(f"{path}: labels {labels.shape} for {nodes} nodes")
    if edges.size and not (int(edges.min()) >= 0 and int(edges.max()) < nodes):
        raise DataError(f"{path}: array 'edges' names a node outside 0..{nodes - 1}")
    if any(arrays[key].ndim != 2 or arrays[key].shape[1] != nodes for key in masks):
        raise DataError(f"{path}: masks must be [folds, {nodes}]")
    edge_index = torch.from_numpy(edges.astype(np.int64)).t().contiguous()
    graph = Data(
        x=torch.from_numpy(features.astype(np.float32)),
        edge_index=coalesce(edge_index, num_nodes=nodes) if directed else to_undirected(edge_index, num_nodes=nodes),
        **{mask: torch.from_numpy(arrays[key]).t().contiguous() for mask, key in _MASKS.items() if key in masks},
    )
    if labels is not None:
        graph.y = torch.from_numpy(labels.astype(np.float64 if labels.dtype.kind == "f" else np.int64))
    return graph


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
