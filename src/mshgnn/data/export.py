"""A node task as two tables that ``load_own`` reads: ``nodes.csv`` and ``edges.csv``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from torch import Tensor
from torch_geometric.utils import contains_self_loops, is_undirected

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.limits import FLOAT, check_limit
from mshgnn.data.splits import PARTS, Split
from mshgnn.files import written


class Exported(NamedTuple):
    """What was written, as a later reader must be told."""

    nodes: int
    edges: int
    features: int
    target_names: tuple[str, ...]
    directed: bool


def export_nodes(dataset: GraphDataset, split: Split, folder: Path) -> Exported:
    """Write the one graph of a node task; read again it is the same graph with the same parts.

    Nodes are numbered from 0. ``nodes.csv`` has their features ``f0``, ``f1``, ... (none where features are degrees:
    the reader counts them itself), the target, blank where it is missing, and ``split``, blank for a node in no part.
    ``edges.csv`` has every undirected edge once, and its features ``e0``, ...
    """
    if dataset.task != "node":
        raise DataError(f"{dataset.name}: has targets of graphs; nodes.csv and edges.csv are for targets of nodes")
    (graph,) = dataset.graphs
    width = 0 if dataset.degree_columns else dataset.num_features
    check_limit("memory", FLOAT * dataset.num_items * width, dataset.name)  # the reader would refuse it
    if contains_self_loops(graph.edge_index):
        raise DataError(f"{dataset.name}: has edges from a node to itself, which edges.csv cannot hold")
    names, targets = _targets(dataset)
    parts = [""] * dataset.num_items
    for word, part in zip(PARTS, split, strict=True):
        for node in part.tolist():
            parts[node] = word
    features = _texts(graph.x[:, :width])
    rows = ([str(node), *features[node], *targets[node], parts[node]] for node in range(dataset.num_items))
    header = ["id", *(f"f{column}" for column in range(width)), *names, "split"]
    directed = not is_undirected(graph.edge_index, graph.get("edge_attr"), num_nodes=dataset.num_items)
    kept = slice(None) if directed else graph.edge_index[0] < graph.edge_index[1]
    ends = graph.edge_index[:, kept].t().tolist()
    attributes = _texts(graph.edge_attr[kept]) if dataset.edge_dim else [[]] * len(ends)
    edge_header = ["from", "to", *(f"e{column}" for column in range(dataset.edge_dim))]
    _write(folder, {"nodes.csv": (header, rows), "edges.csv": (edge_header, _joined(ends, attributes))})
    return Exported(dataset.num_items, len(ends), width, names, directed)


def _targets(dataset: GraphDataset) -> tuple[tuple[str, ...], list[list[str]]]:
    """Their names, and for each node what stands in its row."""
    y = dataset.labels()
    if dataset.objective in ("classify", "rank"):
        classes = dataset.class_names or tuple(map(str, range(dataset.num_classes)))
        return ("label",), [["" if number < 0 else classes[number]] for number in y.tolist()]
    several = tuple(f"target_{number}" for number in range(y.shape[1])) if y.shape[1] > 1 else ("target",)
    return dataset.target_names or several, _texts(y)


def _texts(rows: Tensor) -> list[list[str]]:
    """Numbers as the shortest text that single precision reads as the same; NaN is blank."""
    return [["" if math.isnan(value) else f"{value:.9g}" for value in row] for row in rows.tolist()]


def _joined(ends: Sequence[Sequence[int]], attributes: Sequence[Sequence[str]]) -> Iterable[Sequence[object]]:
    return ([*pair, *values] for pair, values in zip(ends, attributes, strict=True))


def _write(folder: Path, tables: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]]) -> None:
    for name in tables:
        if (folder / name).exists():
            raise DataError(f"{folder / name}: is there already; choose another folder")
    for name, (header, rows) in tables.items():
        with written(folder / name) as beside:
            file = io.TextIOWrapper(beside, encoding="utf-8", newline="")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
            file.detach()
