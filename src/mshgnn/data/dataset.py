"""The one object every data set ends as, whatever it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.errors import UserError

Task = Literal["graph", "node"]
Objective = Literal["classify", "rank", "regress", "multilabel"]
Metric = Literal[
    "accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision", "rmse", "mae", "r2", "mse", "log10_mse"
]
Chosen = slice | Sequence[int] | Sequence[bool] | Tensor | np.ndarray[Any, Any]

WEIGHT = "item_weight"
"""The attribute of a graph that says how much it counts in the training loss ``[1]``, or each of its nodes ``[n]``."""

METRICS: dict[Objective, tuple[Metric, ...]] = {
    "classify": ("accuracy", "balanced_accuracy", "f1"),
    "rank": ("roc_auc", "average_precision"),
    "regress": ("rmse", "mae", "r2", "mse", "log10_mse"),
    "multilabel": ("roc_auc", "average_precision"),
}
"""The metrics of each objective; the first is the default."""


class DataError(UserError):
    """A data set, file or split that cannot be used; the message is one line for the user."""

    def __init__(self, message: str) -> None:
        # a file's own words may hold line breaks, in a quoted cell say, of which Python knows ten kinds
        super().__init__(" ".join(message.splitlines()))


@dataclass(frozen=True, eq=False, repr=False)
class GraphDataset:
    """Graphs with targets, ready for training; indexed, sliced, iterated and batched like a PyG data set.

    Each ``Data`` has ``x`` float32 ``[n, num_features]``, ``edge_index`` int64 ``[2, m]`` (both directions
    of an undirected edge) and, when ``edge_dim > 0``, ``edge_attr`` float32 ``[m, edge_dim]``. A node task has
    exactly one ``Data``, which may be many graphs side by side (see :mod:`mshgnn.data.union`). The targets are

    - ``classify`` and ``rank`` (two classes, ordered by a score): ``y`` int64, ``[1]`` for a graph, ``[n]`` for nodes,
      where -1 marks a node without a label;
    - ``regress`` and ``multilabel`` (each target 0 or 1): ``y`` float32, ``[1, T]`` or ``[n, T]``, NaN where missing.

    ``num_classes`` is 2 for ``multilabel`` and 0 for ``regress``; ``out_channels`` is what a model must give.
    ``catalogued`` data sets came by their name from ``load``: the split files of that name are theirs. The first
    ``degree_columns`` features are one-hot degrees, as wide as the whole set needs (see :mod:`mshgnn.data.recoding`).
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
    degree_columns: int = 0

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.graphs)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Data: ...

    @overload
    def __getitem__(self, index: Chosen) -> GraphDataset: ...

    def __getitem__(self, index: SupportsIndex | Chosen) -> Data | GraphDataset:
        """One graph by its number; a data set of the same kind by a slice, a list of numbers or a mask."""
        if isinstance(index, slice):
            chosen = self.graphs[index]
        elif isinstance(index, SupportsIndex) and getattr(index, "ndim", 0) == 0:
            return self.graphs[self._number(index)]
        else:
            chosen = [self.graphs[number] for number in self._numbers(index)]
        return replace(self, graphs=chosen, checksum=content_checksum(chosen), catalogued=False)

    def __repr__(self) -> str:
        count = f"{len(self)} graphs" if self.task == "graph" else f"1 graph of {self.num_items} nodes"
        parts = [count, f"{self.num_features} features"]
        if self.edge_dim:
            parts.append(f"{self.edge_dim} edge features")
        if self.objective in ("classify", "rank"):
            parts.append(f"{self.num_classes} classes")
        else:
            parts.append(f"{self.out_channels} target{'s' if self.out_channels > 1 else ''}")
        return f"{type(self).__name__}({self.name!r}, {', '.join(parts)}, {self.objective} by {self.metric})"

    @property
    def num_node_features(self) -> int:
        """PyG's name for ``num_features``."""
        return self.num_features

    @property
    def num_edge_features(self) -> int:
        """PyG's name for ``edge_dim``."""
        return self.edge_dim

    @property
    def out_channels(self) -> int:
        """How many numbers a model must give for each item: the classes, or the targets."""
        if self.objective in ("classify", "rank"):
            return self.num_classes
        return len(self.target_names) or int(self.graphs[0].y.shape[1])

    @property
    def num_items(self) -> int:
        """How many things have a target: graphs, or nodes of the one graph."""
        return len(self.graphs) if self.task == "graph" else int(self.graphs[0].num_nodes)

    def labels(self) -> Tensor:
        """All targets: ``[items]``, or ``[items, targets]`` where there may be several."""
        return torch.cat([graph.y for graph in self.graphs]) if self.graphs else torch.empty(0, dtype=torch.long)

    def _number(self, index: SupportsIndex) -> int:
        number = index.__index__()
        if not -len(self) <= number < len(self):  # an IndexError: it ends a loop of the old iteration protocol
            raise IndexError(f"{self.name}: graph {number} of {len(self)}")
        return number

    def _numbers(self, index: object) -> list[int]:
        try:
            chosen = torch.as_tensor(index)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"{self.name}: graphs are chosen by numbers, a slice or a mask ({error})") from error
        if chosen.dim() == 1 and len(chosen) == 0:
            return []
        if chosen.dtype == torch.bool:
            if chosen.shape != (len(self),):
                raise DataError(f"{self.name}: a mask of shape {list(chosen.shape)} for {len(self)} graphs")
            return chosen.nonzero().flatten().tolist()
        if chosen.dim() != 1 or chosen.is_floating_point() or chosen.is_complex():
            kind = str(chosen.dtype).removeprefix("torch.")
            raise DataError(
                f"{self.name}: graphs are chosen by a flat list of whole numbers, not by {kind} {chosen.shape}"
            )
        return [self._number(number) for number in chosen.tolist()]


def content_checksum(graphs: Sequence[Data]) -> str:
    """Sha256 over sizes, edges, features and targets: equal on every machine for equal content."""
    digest = hashlib.sha256()
    for graph in graphs:
        for key in ("edge_index", "x", "edge_attr", "y", WEIGHT):
            value = graph.get(key)
            if value is not None:
                digest.update(f"{key}{tuple(value.shape)}".encode())
                digest.update(memoryview(value.contiguous().numpy()).cast("B") if value.numel() else b"")
    return digest.hexdigest()
