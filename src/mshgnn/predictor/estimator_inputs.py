"""What scikit-learn hands to an estimator, checked and brought into the form that a training takes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data import DataError, GraphDataset, from_graphs
from mshgnn.data.dataset import WEIGHT, Objective, Task
from mshgnn.data.from_graphs import as_data

Array = np.ndarray[Any, Any]


def graphs_of(X: Any, task: Task = "graph") -> list[Data]:
    """The graphs as PyG's, also those of networkx."""
    if not isinstance(X, Iterable):
        raise DataError(f"X must be a list of graphs, not {type(X).__name__}")
    graphs: list[Data] = []
    for graph in X:
        try:
            graphs.append(as_data(graph, task))
        except ValueError as error:
            raise DataError(f"graph {len(graphs)}: {error}") from error
    if not graphs:
        raise DataError("there are no graphs")
    return graphs


def labels_of(X: Sequence[Data], y: Any) -> Array:
    """``y``, or what the graphs carry."""
    if y is None:
        own = [graph.get("y") for graph in X]
        if any(value is None for value in own):
            raise DataError("y is missing: give it to fit, or to every graph")
        rows = [np.asarray(value).reshape(1, -1) for value in own]
        if len({row.shape for row in rows}) > 1:
            raise DataError("y must hold as many targets for every graph")
        return np.concatenate(rows).squeeze(1) if rows[0].shape[1] == 1 else np.concatenate(rows)
    labels = np.asarray(y)
    if len(labels) != len(X):
        raise DataError(f"{len(labels)} targets for {len(X)} graphs")
    return labels


def classes_of(labels: Array) -> Array:
    """The different classes in order; amounts and blanks are none."""
    try:
        check_classification_targets(labels)
        return np.asarray(unique_labels(labels))
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold one class for each item ({error})") from None


def numbers_of(X: Sequence[Data], y: Any) -> Tensor:
    """The same as float64, NaN where a number is missing."""
    try:
        return torch.from_numpy(labels_of(X, y).astype(np.float64))
    except DataError:  # it says itself what is wrong
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers ({error})") from None


def weights_of(given: Any, count: int) -> Tensor | None:
    """``sample_weight`` checked, float32 ``[count]``."""
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must hold numbers ({error})") from None
    if weights.shape != (count,):
        raise DataError(f"sample_weight has the shape {list(weights.shape)}, {count} items need [{count}]")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError("sample_weight must be finite and not negative, and not all of it 0")
    return torch.from_numpy(weights)


def dataset_of(
    graphs: Sequence[Data],
    y: Tensor,
    task: Task,
    objective: Objective,
    num_classes: int | None,
    weights: Tensor | None,
) -> GraphDataset:
    """Checked graphs with these targets and weights; one class makes two, of which one is never seen."""
    targets = [y] if task == "node" else torch.split(y, 1)
    given = [copy.copy(graph) for graph in graphs]
    for index, (graph, target) in enumerate(zip(given, targets, strict=True)):
        graph.y = target
        if weights is not None:
            graph[WEIGHT] = weights if task == "node" else weights[index : index + 1]
    classes = None if num_classes is None else max(num_classes, 2)
    return from_graphs(given, name="graphs", task=task, objective=objective, num_classes=classes)


def without_targets(graph: Data, index: int) -> Data:
    """The graph in the dtypes that a model takes, without its targets."""
    bare = copy.copy(graph)
    bare.y = torch.zeros(1)
    try:
        checked = from_graphs([bare], name=f"graph {index}", objective="regress").graphs[0]
    except DataError as error:
        raise DataError(str(error).replace(": graph 0:", ":", 1)) from error
    if "x" not in graph:  # degrees are the schema's to count
        checked = copy.copy(checked)
        del checked["x"]
    return checked


def node_numbers(X: Any, graph: Data) -> Array:
    """Node numbers ``[n]``, also from a column of them."""
    nodes = np.asarray(X).reshape(-1)
    if not np.issubdtype(nodes.dtype, np.integer) or len(nodes) == 0:
        raise DataError("X must be the numbers of nodes")
    if nodes.min() < 0 or nodes.max() >= int(graph.num_nodes):
        raise DataError(f"X names a node outside 0..{int(graph.num_nodes) - 1}")
    return nodes
