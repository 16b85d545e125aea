"""The one object every data set ends as, whatever it came from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.errors import UserError

Task = Literal["graph", "node"]
Objective = Literal["classify", "rank", "regress", "multilabel"]
Metric = Literal["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision", "rmse", "mae", "r2"]

METRICS: dict[Objective, tuple[Metric, ...]] = {
    "classify": ("accuracy", "balanced_accuracy", "f1"),
    "rank": ("roc_auc", "average_precision"),
    "regress": ("rmse", "mae", "r2"),
    "multilabel": ("roc_auc", "average_precision"),
}
"""The metrics of each objective; the first is the default."""


class DataError(UserError):
    """A data set, file or split that cannot be used; the message is one line for the user."""


@dataclass(frozen=True)
class GraphDataset:
    """Graphs with targets, ready for training.

    Each ``Data`` has ``x`` float32 ``[n, num_features]``, ``edge_index`` int64 ``[2, m]`` (both directions
    of an undirected edge), ``y`` int64 (``[1]`` for a graph, ``[n]`` for nodes) and, when ``edge_dim > 0``,
    ``edge_attr`` float32 ``[m, edge_dim]``. A node task has exactly one ``Data``. ``catalogued`` data sets came
    by their name from ``load``: the split files of that name are theirs.
    """

    name: str
    task: Task
    graphs: list[Data]
    num_features: int
    num_classes: int
    metric: Metric
    checksum: str
    edge_dim: int = 0
    catalogued: bool = False
    objective: Objective = "classify"
    class_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()

    @property
    def out_channels(self) -> int:
        """How many numbers a model must give for each item: the classes, or the targets."""
        if self.objective in ("classify", "rank"):
            return self.num_classes
        return len(self.target_names) or int(self.graphs[0].y.shape[1])

    def labels(self) -> Tensor:
        """All targets, ``[number of graphs]`` or ``[number of nodes]``."""
        return torch.cat([graph.y for graph in self.graphs])

    @property
    def num_items(self) -> int:
        """How many things are classified: graphs, or nodes of the one graph."""
        return len(self.graphs) if self.task == "graph" else int(self.graphs[0].num_nodes)


def from_graphs(
    graphs: Sequence[Data],
    *,
    name: str = "own",
    task: Task = "graph",
    num_classes: int | None = None,
    metric: Metric = "accuracy",
) -> GraphDataset:
    """Check a list of PyG graphs and make the data set object of them.

    Anything that would fail or mislead later is refused here, with the graph's position: a missing or
    non-integer target, features of another width, NaN, an edge to a node that does not exist.
    """
    if not graphs:
        raise DataError(f"{name}: there are no graphs")
    if task not in ("graph", "node"):
        raise DataError(f"{name}: task must be 'graph' or 'node', not {task!r}")
    if task == "node" and len(graphs) != 1:
        raise DataError(f"{name}: a node task has exactly one graph, not {len(graphs)}")
    num_features = _width(graphs[0], "x")
    edge_dim = _width(graphs[0], "edge_attr")
    for index, graph in enumerate(graphs):
        problem = _problem(graph, task, num_features, edge_dim)
        if problem:
            raise DataError(f"{name}: graph {index}: {problem}")
    largest = max(int(graph.y.max()) for graph in graphs) + 1
    if num_classes is None:
        num_classes = max(largest, 2)
    elif largest > num_classes:
        raise DataError(f"{name}: a target is {largest - 1}, but there are only {num_classes} classes")
    made = GraphDataset(name, task, list(graphs), num_features, num_classes, metric, content_checksum(graphs), edge_dim)
    return replace(made, objective="rank") if metric in METRICS["rank"] else made


def content_checksum(graphs: Sequence[Data]) -> str:
    """Sha256 over sizes, edges, features and targets: equal on every machine for equal content."""
    digest = hashlib.sha256()
    for graph in graphs:
        for key in ("edge_index", "x", "edge_attr", "y"):
            value = graph.get(key)
            if value is not None:
                digest.update(f"{key}{tuple(value.shape)}".encode())
                digest.update(memoryview(value.contiguous().numpy()).cast("B") if value.numel() else b"")
    return digest.hexdigest()


def _width(graph: Data, key: str) -> int:
    value = graph.get(key)
    return int(value.shape[1]) if isinstance(value, Tensor) and value.dim() == 2 else 0


def _problem(graph: Data, task: Task, num_features: int, edge_dim: int) -> str | None:
    """The first thing wrong with a graph, or None."""
    x, edge_index, y = graph.get("x"), graph.get("edge_index"), graph.get("y")
    if not isinstance(x, Tensor) or x.dim() != 2 or x.dtype != torch.float32:
        return "x must be a float32 tensor [nodes, features]"
    if x.shape[1] != num_features or num_features == 0:
        return f"x has {x.shape[1]} features, the first graph has {num_features}"
    if x.shape[0] == 0:
        return "it has no nodes"
    if not _finite(x):
        return "x holds NaN or infinity"
    if not isinstance(edge_index, Tensor) or edge_index.dtype != torch.int64 or edge_index.dim() != 2:
        return "edge_index must be an int64 tensor [2, edges]"
    if edge_index.shape[0] != 2:
        return f"edge_index must have two rows, not {edge_index.shape[0]}"
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < x.shape[0]:
        return f"an edge names a node outside 0..{x.shape[0] - 1}"
    edge_attr = graph.get("edge_attr")
    if (edge_attr is not None or edge_dim) and (
        not isinstance(edge_attr, Tensor)
        or edge_attr.dtype != torch.float32
        or edge_attr.shape != (edge_index.shape[1], edge_dim)
    ):
        return f"edge_attr must be a float32 tensor [{edge_index.shape[1]}, {edge_dim}], as in the first graph"
    if edge_attr is not None and not _finite(edge_attr):
        return "edge_attr holds NaN or infinity"
    expected = 1 if task == "graph" else x.shape[0]
    if not isinstance(y, Tensor) or y.dtype != torch.int64 or y.shape != (expected,):
        return f"y must be an int64 tensor [{expected}] (a missing target?)"
    if int(y.min()) < 0:
        return f"a target is negative: {int(y.min())}"
    return None


def _finite(values: Tensor) -> bool:
    """No NaN, no infinity. A finite sum proves it in one cheap pass; otherwise look at every entry."""
    return math.isfinite(float(values.sum())) or bool(torch.isfinite(values).all())
