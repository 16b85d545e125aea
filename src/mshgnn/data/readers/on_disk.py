"""Reader of a graph that stays on the disk: a folder of ``.npy`` or Arrow arrays, which may be larger than memory.

``x`` ``[n, d]`` (float32 or float16), ``edge_index`` ``[2, m]`` (senders, receivers; int32 or int64, every direction
listed), ``y`` ``[n]`` whole numbers (-1: missing) or ``[n]``, ``[n, T]`` floats (NaN: missing) and, if wanted,
``split`` ``[n]`` with 0 for train, 1 for validation, 2 for test and -1 for none; each a ``.npy`` or an ``.arrow``.
Edges that are not in the order of their receivers are sorted once, on the disk, into
``edge_index.mshgnn-sorted.npy`` beside them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.arrow_file import open_arrow
from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.mapped import MAPPED, MappedArray
from mshgnn.data.readers.asked import Asked, Cell
from mshgnn.data.readers.read import Read
from mshgnn.data.readers.target_columns import named_columns, names_of_columns
from mshgnn.data.receiver_order import Counted, count_senders, sort_on_disk
from mshgnn.data.schema import Schema
from mshgnn.data.targets import Wish, settle
from mshgnn.machine import memory_limit

FEATURES, EDGES, TARGETS, SPLIT = "x", "edge_index", "y", "split"
SORTED = "edge_index.mshgnn-sorted.npy"
RECEIVER_START = "receiver_start"
"""The attribute of a graph on the disk that holds ``rowptr``: where the edges of every receiver begin ``[n + 1]``."""
CHUNK_BYTES = 2**24
PARTS = {"train_mask": 0, "val_mask": 1, "test_mask": 2}


def is_on_disk(folder: Path) -> bool:
    """Whether a folder holds such a graph."""
    return _path(folder, FEATURES).exists() and _path(folder, EDGES).exists()


def read_on_disk(folder: Path, asked: Asked) -> Read:
    """A node task whose features and edges stay where they are."""
    asked.refuse(folder, "weight", "id", "split", "ignore", "target")
    graph, checksum = open_on_disk(folder)
    path = _path(folder, TARGETS)
    y = _in_memory(path, int(graph.num_nodes), "iuf")
    schema = asked.schema
    wish = Wish(
        schema.objective if schema else asked.objective,
        schema.metric if schema else asked.metric,
        len(schema.class_names) or None if schema else None,
    )
    targets = settle(str(path), "node", y.reshape(len(y), -1), wish)
    graph.y = targets.values
    names = tuple(map(str, range(targets.num_classes))) if targets.objective in ("classify", "rank") else ()
    checksum.update(f"y{tuple(graph.y.shape)}".encode() + graph.y.numpy().tobytes())
    if (path := _path(folder, SPLIT)).exists():
        split = _in_memory(path, len(y), "iu")
        for mask, number in PARTS.items():
            graph[mask] = split == number
    columns = 1 if graph.y.dim() == 1 else int(graph.y.shape[1])
    target_names = names_of_columns("y", columns)
    dataset = GraphDataset(
        folder.resolve().name,
        "node",
        [graph],
        int(graph.x.shape[1]),
        targets.num_classes,
        targets.metric,
        checksum.hexdigest(),
        objective=targets.objective,
        class_names=names,
        target_names=target_names,
    )
    made = Schema("node", targets.objective, targets.metric, target_names=target_names, class_names=names)
    return Read(dataset, schema or made)


def read_bare_on_disk(folder: Path, asked: Asked) -> tuple[Data, dict[str, list[Cell]]]:
    """The graph for a trained model, and what the folder says of the nodes' targets, by name, if anything."""
    graph, _ = open_on_disk(folder)
    path = _path(folder, TARGETS)
    if not path.exists():
        return graph, {}
    return graph, named_columns(_in_memory(path, int(graph.num_nodes), "iuf"), "y")


def open_on_disk(folder: Path) -> tuple[Data, hashlib._Hash]:
    """Features and edges of a folder, mapped and checked, and the digest of both."""
    x, edges = _open(_path(folder, FEATURES)), _open(_path(folder, EDGES), columns=2)
    if x.values.ndim != 2 or x.values.shape[1] == 0 or x.values.dtype not in (np.float32, np.float16):
        raise DataError(f"{x.path}: must be float32 or float16 [nodes, features], not {_kind(x)}")
    if edges.values.ndim != 2 or edges.values.shape[0] != 2 or edges.values.dtype not in (np.int32, np.int64):
        raise DataError(f"{edges.path}: must be int32 or int64 [2, edges], not {_kind(edges)}")
    num_nodes = x.values.shape[0]
    if num_nodes == 0:
        raise DataError(f"{x.path}: there are no nodes")
    counted = count_senders(edges, num_nodes)
    digest = hashlib.sha256()
    for name, array in (("edge_index", edges), ("x", x)):
        digest.update(f"{name}{array.values.shape}".encode())
        _read_through(array, digest)
    if not counted.is_sorted:
        edges = _sorted(folder, edges, counted)
    graph = Data(
        x=torch.from_numpy(x.values),
        edge_index=torch.from_numpy(edges.values),
        **{RECEIVER_START: torch.from_numpy(counted.rowptr)},
    )
    graph[MAPPED] = (x, edges)
    return graph, digest


def _sorted(folder: Path, edges: MappedArray, counted: Counted) -> MappedArray:
    """The edges in receiver order: those of an earlier run where they are these edges, else sorted anew."""
    path, num_nodes = folder / SORTED, counted.rowptr.size - 1
    if path.exists():
        try:
            found = MappedArray.open(path)
            if found.values.shape == edges.values.shape and found.values.dtype == edges.values.dtype:
                again = count_senders(found, num_nodes)
                if again.is_sorted and again.content == counted.content:
                    return found
        except DataError:  # damaged: made again below
            pass
    buckets = max(1, -(-4 * edges.values.nbytes // memory_limit()))
    try:
        return sort_on_disk(edges, counted.rowptr, path, buckets=buckets)
    except OSError as error:
        raise DataError(f"{path}: the edges cannot be sorted there ({error.strerror})") from None


def _read_through(array: MappedArray, digest: hashlib._Hash) -> None:
    """Once over the whole array, row by row: into the digest, and every number must be one."""
    long_rows = array.values if array.values.dtype.kind == "i" else [array.values]
    for values in long_rows:
        step = max(1, CHUNK_BYTES // values[:1].nbytes) if len(values) else 1
        for begin in range(0, len(values), step):
            piece = values[begin : begin + step]
            if piece.dtype.kind == "f" and not np.isfinite(piece).all():
                raise DataError(f"{array.path}: holds NaN or infinity")
            digest.update(piece.data.cast("B"))
            array.forget()


def _in_memory(path: Path, num_nodes: int, kinds: str) -> Tensor:
    """A small array of one row per node."""
    values = _open(path).values
    if values.ndim not in (1, 2) or len(values) != num_nodes or values.dtype.kind not in kinds or not values.size:
        raise DataError(f"{path}: one row for each of {num_nodes:,} nodes is needed, not {values.dtype} {values.shape}")
    return torch.from_numpy(values.astype(np.float64 if values.dtype.kind == "f" else np.int64))


def _path(folder: Path, name: str) -> Path:
    """The file of an array; the ``.npy`` where there is none."""
    npy, arrow = folder / f"{name}.npy", folder / f"{name}.arrow"
    if npy.exists() and arrow.exists():
        raise DataError(f"{folder}: holds both {npy.name} and {arrow.name}; leave the one that is meant")
    return arrow if arrow.exists() else npy


def _open(path: Path, columns: Literal[1, 2] = 1) -> MappedArray:
    return open_arrow(path, columns) if path.suffix == ".arrow" else MappedArray.open(path)


def _kind(array: MappedArray) -> str:
    return f"{array.values.dtype} {list(array.values.shape)}"
