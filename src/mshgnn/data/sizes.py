"""Sizes of a data set on disk, beside the sizes the paper states."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch

from mshgnn.data.catalogue import Entry, Figures, find
from mshgnn.data.dataset import GraphDataset
from mshgnn.data.loading import load
from mshgnn.data.sources.store import data_root
from mshgnn.data.sources.upstream import open_upstream

MOST_CLASSES = 20
"""So many classes are listed with their counts."""


class Comparison(NamedTuple):
    """One row of ``mshgnn data info``: a figure on disk, as expected of the known files, and in the paper."""

    figure: str
    on_disk: float
    expected: float | None
    paper: float | None

    @property
    def remark(self) -> str:
        """Whether the paper's figure is what is on disk."""
        if self.paper is None:
            return ""
        return "same" if self.on_disk == self.paper else "differs"


def measure(dataset: GraphDataset, self_loops: int = 0) -> Figures:
    """Sizes as tables state them: averages to two places for graphs, totals for nodes; edges undirected.

    ``self_loops`` of the files are counted as edges, although PyG (and so the data set) leaves them out.
    """
    nodes = sum(int(graph.num_nodes) for graph in dataset.graphs)
    edges = sum(int(graph.edge_index.shape[1]) for graph in dataset.graphs) / 2 + self_loops
    if dataset.task == "node":
        return Figures(nodes, nodes, edges, dataset.num_classes, dataset.num_features)
    count = len(dataset.graphs)
    return Figures(count, round(nodes / count, 2), round(edges / count, 2), dataset.num_classes, dataset.num_features)


def target_lines(dataset: GraphDataset) -> list[str]:
    """What the targets are, a line for each: how many items of each class, or the range of the numbers."""
    labels = dataset.labels()
    if dataset.objective in ("classify", "rank"):
        name = next(iter(dataset.target_names), "target")
        counts = torch.bincount(labels[labels >= 0], minlength=dataset.num_classes).tolist()
        listed = [f"{label} {count:,}" for label, count in zip(dataset.class_names, counts, strict=True)]
        more = f", and {len(listed) - MOST_CLASSES} more" if len(listed) > MOST_CLASSES else ""
        missing = int((labels < 0).sum())
        return [f"{name}: {', '.join(listed[:MOST_CLASSES])}{more}" + (f"; missing {missing:,}" if missing else "")]
    lines = []
    for name, column in zip(dataset.target_names, labels.unbind(dim=1), strict=True):
        there = column[~column.isnan()]
        if dataset.objective == "multilabel":
            text = f"0 {int((there == 0).sum()):,}, 1 {int((there == 1).sum()):,}"
        else:
            text = f"{float(there.min()):.4g} to {float(there.max()):.4g}, mean {float(there.mean()):.4g}"
        missing = len(column) - len(there)
        lines.append(f"{name}: {text}" + (f"; missing {missing:,}" if missing else ""))
    return lines


def self_loops_in_files(entry: Entry, root: Path | None = None) -> int:
    """How many self-loops a TU set's files list (2,837 in COLLAB, else none in the paper's sets)."""
    if entry.family != "tu":
        return 0
    return open_upstream(entry, data_root(root)).self_loops


def compare(dataset: GraphDataset, root: Path | None = None) -> list[Comparison]:
    """Every figure of a loaded data set of the catalogue: on disk, expected and in the paper."""
    entry = find(dataset.name)
    disk = measure(dataset, self_loops_in_files(entry, root))
    if not entry.paper_largest_component:
        return _rows(disk, entry.expected, entry.paper)
    component = measure(load(entry.name, largest_component=True, root=root))
    of_component = [
        row._replace(figure=f"{row.figure} (largest component)") for row in _rows(component, None, entry.paper)
    ]
    return _rows(disk, entry.expected, None) + of_component[:2]


def measured_rows(dataset: GraphDataset) -> list[Comparison]:
    """The figures of any data set; nothing is known to compare them with."""
    return _rows(measure(dataset), None, None)


def _rows(disk: Figures, expected: Figures | None, paper: Figures | None) -> list[Comparison]:
    if disk.items == disk.nodes:
        names = {"nodes": "nodes", "edges": "edges"}
    else:
        names = {"graphs": "items", "nodes a graph": "nodes", "edges a graph": "edges"}
    names |= {"classes": "classes", "features": "features"}
    return [
        Comparison(figure, getattr(disk, key), getattr(expected, key, None), getattr(paper, key, None))
        for figure, key in names.items()
    ]
