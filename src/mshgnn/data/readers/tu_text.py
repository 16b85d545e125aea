"""Reader of the TU text form: ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ``NAME_graph_labels.txt``, ...

PyG's own reader keeps every number as a Python object (6.6 GB and a minute on COLLAB) and says nothing of what is
wrong in a file. This one returns the same tensors, checks every file first and names the line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, cumsum, one_hot, remove_self_loops

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import FLOAT, allowed, check_file, check_limit

BLOCK = 2**24
_WHOLE = re.compile(r"[+-]?\d{1,18}")  # what fits 64 bits
_REAL = re.compile(r"[+-]?(nan|inf|infinity|(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE)


class TUTables(NamedTuple):
    """A folder's content: graphs end to end, widths and counts, and the classes as the files name them.

    ``tensors`` has ``y`` ``[graphs]``, ``edge_index`` (counted from each graph's first node), ``x`` and ``edge_attr``
    where the files have any, and how many ``nodes`` and ``edges`` each graph has. ``node_labels`` and ``edge_labels``
    hold the values of every column of labels, in the order of their one-hot columns. ``graph_attributes``
    ``[graphs, T]`` are real-valued targets, without columns where there are none.
    """

    tensors: dict[str, Tensor]
    sizes: dict[str, int]
    class_names: tuple[str, ...]
    graph_attributes: Tensor
    node_labels: tuple[tuple[int, ...], ...]
    edge_labels: tuple[tuple[int, ...], ...]


def read_tu_folder(folder: Path, name: str, *, needs_target: bool = True) -> TUTables:
    """Read and check a folder in TU text form; the first error is raised with its file and line.

    Without ``needs_target`` there may be no ``graph_labels``: then there are no classes, and no ``y``.
    """
    edge_rows = _read(folder, name, "A", np.int64, columns=2)
    graph_of_row = _read(folder, name, "graph_indicator", np.int64, columns=1)
    label_rows = _read(folder, name, "graph_labels", np.int64, columns=1)
    if edge_rows is None or graph_of_row is None or (label_rows is None and needs_target):
        real_valued = (folder / f"{name}_graph_attributes.txt").exists()
        missing = "A" if edge_rows is None else "graph_indicator" if graph_of_row is None else "graph_labels"
        hint = " (only real-valued targets: not a classification set)" if real_valued else ""
        raise DataError(f"{folder / f'{name}_{missing}.txt'}: file not found{hint}")
    graph_of = torch.from_numpy(graph_of_row[:, 0])
    num_nodes = len(graph_of)
    num_graphs = len(np.unique(graph_of_row)) if label_rows is None else len(label_rows)
    graph_attributes = _numbers(folder, name, "graph_attributes", num_graphs)
    _check_graph_indicator(folder / f"{name}_graph_indicator.txt", graph_of_row[:, 0], num_graphs)
    _check_edges(folder / f"{name}_A.txt", edge_rows, graph_of_row[:, 0])

    node_attributes = _numbers(folder, name, "node_attributes", num_nodes)
    node_labels, node_values = _one_hot_labels(folder, name, "node_labels", num_nodes)
    edge_attributes = _numbers(folder, name, "edge_attributes", len(edge_rows))
    edge_labels, edge_values = _one_hot_labels(folder, name, "edge_labels", len(edge_rows))
    sizes = {
        "num_node_attributes": node_attributes.size(1),
        "num_node_labels": node_labels.size(1),
        "num_edge_attributes": edge_attributes.size(1),
        "num_edge_labels": edge_labels.size(1),
    }

    graph_of = graph_of - 1
    edge_index = torch.from_numpy(edge_rows).t() - 1
    edge_attr = (
        torch.cat([edge_attributes, edge_labels], dim=1) if edge_attributes.numel() + edge_labels.numel() else None
    )
    loops = edge_index[0] == edge_index[1]
    sizes["num_self_loops"] = len(np.unique(edge_index[0, loops].numpy()))
    edge_index, edge_attr = remove_self_loops(edge_index, edge_attr)
    edge_index, edge_attr = coalesce(edge_index, edge_attr, num_nodes)
    node_counts = torch.bincount(graph_of, minlength=num_graphs)
    node_slice = cumsum(node_counts)
    edge_slice = cumsum(torch.bincount(graph_of[edge_index[0]], minlength=num_graphs))
    tensors = {
        "edge_index": edge_index - node_slice[graph_of[edge_index[0]]],
        "nodes": node_counts,
        "edges": edge_slice.diff(),
    }
    names: list[int] = []
    if label_rows is not None:
        values, classes = np.unique(label_rows[:, 0], return_inverse=True)
        names, tensors["y"] = values.tolist(), torch.from_numpy(classes)
    if sizes["num_node_attributes"] + sizes["num_node_labels"]:
        tensors["x"] = torch.cat([node_attributes, node_labels], dim=1)
    if edge_attr is not None:
        tensors["edge_attr"] = edge_attr
    return TUTables(tensors, sizes, tuple(map(str, names)), graph_attributes, node_values, edge_values)


def separate(tensors: Mapping[str, Tensor]) -> list[Data]:
    """The single graphs of tensors laid end to end; every graph gets views.

    ``nodes`` and ``edges`` are the counts of each graph; ``y`` has a row for each graph or each node, anything not
    named here (masks) one for each node. Features without columns are left out.
    """
    nodes, edges = tensors["nodes"].tolist(), tensors["edges"].tolist()
    graphs = [Data() for _ in nodes]
    for key, value in tensors.items():
        if key in ("nodes", "edges") or (key in ("x", "edge_attr") and value.shape[1] == 0):
            continue
        if key == "edge_index":
            parts = torch.split(value, edges, dim=1)
        elif key == "edge_attr":
            parts = torch.split(value, edges)
        else:
            parts = torch.split(value, [1] * len(nodes) if key == "y" and len(value) == len(nodes) else nodes)
        for graph, part in zip(graphs, parts, strict=True):
            graph[key] = part
    if "x" not in graphs[0]:
        for graph, count in zip(graphs, nodes, strict=True):
            graph.num_nodes = count
    return graphs


def _read(
    folder: Path, name: str, table: str, dtype: type[np.number], *, columns: int | None = None
) -> npt.NDArray[np.number] | None:
    """The rows of one file, ``[rows, columns]``; None when there is no such file."""
    path = folder / f"{name}_{table}.txt"
    if not path.exists():
        return None
    check_file(path)
    if not _check_bytes(path):
        return np.empty((0, columns or 1), dtype=dtype)
    try:
        rows = np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2, comments=None, encoding="ascii")
    except ValueError as error:
        raise DataError(_first_bad_line(path, dtype, columns)) from error
    if columns is not None and rows.shape[1] != columns:
        raise DataError(f"{path}: line 1: expected {columns} values, found {rows.shape[1]}")
    return rows


def _check_bytes(path: Path) -> bool:
    """Plain ASCII, no blank line between rows, no endless line, numbers that fit the memory. False when empty.

    Looks at one block at a time, so that it needs no memory of its own, whatever the file holds.
    """
    line_limit = allowed("line")
    line, carried, numbers = 1, 0, 0  # number of the line a block begins in, and how long it is already
    first_blank, full = None, False
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            numbers += sum(block.count(mark) for mark in (b",", b"\n", b"\r"))
            check_limit("memory", 2 * 8 * numbers, path)
            content = np.frombuffer(block.replace(b"\r", b""), dtype=np.uint8)
            bad = np.flatnonzero(content >= 128)
            if bad.size:
                line += int(np.count_nonzero(content[: bad[0]] == ord("\n")))
                raise DataError(f"{path}: line {line}: not a number: byte 0x{int(content[bad[0]]):02x} is not text")
            ends = np.flatnonzero(content == ord("\n"))
            lengths = np.diff(ends, prepend=-1, append=content.size) - 1  # the last is of a line that goes on
            lengths[0] += carried
            if int(lengths.max()) > line_limit:
                check_limit("line", int(lengths.max()), f"{path}: line {line + int(np.argmax(lengths > line_limit))}")
            blank, written = np.flatnonzero(lengths[:-1] == 0), np.flatnonzero(lengths)
            if first_blank is None and blank.size:
                first_blank = line + int(blank[0])
            if first_blank is not None and written.size and line + int(written[-1]) > first_blank:
                raise DataError(f"{path}: line {first_blank}: empty line between rows")
            full = full or bool(written.size)
            line, carried = line + ends.size, int(lengths[-1])
    return full


def _first_bad_line(path: Path, dtype: type[np.number], columns: int | None) -> str:
    """Look again, line by line, for what the fast parser refused."""
    width = columns
    whole = issubclass(dtype, np.integer)
    with path.open(encoding="ascii") as lines:
        for line_number, line in enumerate(lines, start=1):
            values = [value.strip() for value in line.split(",")]
            width = width or len(values)
            if len(values) != width:
                return f"{path}: line {line_number}: expected {width} values, found {len(values)}"
            bad = [value for value in values if not (_WHOLE if whole else _REAL).fullmatch(value)]
            if bad:
                kind = "whole number" if whole else "number"
                return f"{path}: line {line_number}: not a {kind}: {bad[0][:40]!r}"
    return f"{path}: not a table of numbers"


def _check_graph_indicator(path: Path, graph_of: npt.NDArray[np.number], num_graphs: int) -> None:
    if graph_of.size == 0:
        raise DataError(f"{path}: the file is empty")
    outside = np.flatnonzero((graph_of < 1) | (graph_of > num_graphs))
    if outside.size:
        row = int(outside[0])
        raise DataError(f"{path}: line {row + 1}: graph {graph_of[row]} is not in 1..{num_graphs}")
    falling = np.flatnonzero(np.diff(graph_of) < 0)
    if falling.size:
        raise DataError(f"{path}: line {int(falling[0]) + 2}: graph numbers must not decrease")
    empty = np.flatnonzero(np.bincount(graph_of.astype(np.int64), minlength=num_graphs + 1)[1:] == 0)
    if empty.size:
        raise DataError(f"{path}: graph {int(empty[0]) + 1} has no nodes")


def _check_edges(path: Path, edges: npt.NDArray[np.number], graph_of: npt.NDArray[np.number]) -> None:
    unknown = np.flatnonzero(((edges < 1) | (edges > len(graph_of))).any(axis=1))
    if unknown.size:
        row = int(unknown[0])
        raise DataError(
            f"{path}: line {row + 1}: edge {edges[row, 0]}, {edges[row, 1]} names an unknown node "
            f"(nodes are 1..{len(graph_of)})"
        )
    across = np.flatnonzero(graph_of[edges[:, 0] - 1] != graph_of[edges[:, 1] - 1])
    if across.size:
        row = int(across[0])
        raise DataError(f"{path}: line {row + 1}: edge {edges[row, 0]}, {edges[row, 1]} joins two graphs")


def _numbers(folder: Path, name: str, table: str, rows: int) -> Tensor:
    values = _read(folder, name, table, np.float64)
    if values is None:
        return torch.empty(rows, 0)
    _check_rows(folder / f"{name}_{table}.txt", values, rows)
    bad = np.flatnonzero(~(np.abs(values) <= np.finfo(np.float32).max).all(axis=1))
    if bad.size:
        raise DataError(f"{folder / f'{name}_{table}.txt'}: line {int(bad[0]) + 1}: NaN or infinity")
    return torch.from_numpy(values.astype(np.float32))


def _one_hot_labels(folder: Path, name: str, table: str, rows: int) -> tuple[Tensor, tuple[tuple[int, ...], ...]]:
    """One-hot of every label column, one column for each value that occurs (PyG also keeps unused ones); the values."""
    values = _read(folder, name, table, np.int64)
    if values is None:
        return torch.empty(rows, 0), ()
    path = folder / f"{name}_{table}.txt"
    _check_rows(path, values, rows)
    columns = [np.unique(column, return_inverse=True) for column in values.T] if rows else []
    width = sum(len(distinct) for distinct, _ in columns)
    check_limit("columns", width, f"{path}: different labels")
    check_limit("memory", 2 * FLOAT * rows * width, path)
    coded = torch.cat([torch.empty(rows, 0), *(one_hot(torch.from_numpy(codes)) for _, codes in columns)], dim=1)
    return coded, tuple(tuple(distinct.tolist()) for distinct, _ in columns)


def _check_rows(path: Path, values: npt.NDArray[np.number], rows: int) -> None:
    if len(values) != rows:
        raise DataError(f"{path}: {len(values):,} rows, expected {rows:,}")
