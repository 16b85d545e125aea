"""What a reader gives: the data set, and the schema that made it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset, Task
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.target_columns import TargetColumns
from mshgnn.data.schema import Label, Schema

_log = logging.getLogger("mshgnn")


class Read(NamedTuple):
    """A file as a data set, the schema that made it, and the rows left out, each with the reason."""

    dataset: GraphDataset
    schema: Schema
    skipped: tuple[tuple[int, str], ...] = ()


def as_read(
    graphs: Sequence[Data],
    name: str,
    task: Task,
    targets: TargetColumns,
    asked: Asked,
    *,
    node_labels: tuple[int | str, ...] = (),
    feature_names: tuple[str, ...] = (),
    edge_names: tuple[str, ...] = (),
    columns: Mapping[str, str] | None = None,
    edge_labels: tuple[Label, ...] = (),
    degree_cap: int | None = None,
    skipped: Mapping[int, str] = MappingProxyType({}),
) -> Read:
    """The data set of graphs whose ``x`` and ``y`` are set, with the schema asked for or the one just made.

    ``skipped`` are rows that could not be read, by their numbers in the file: graphs that are not among ``graphs``, or
    nodes, which stay in the one graph but have no target.
    """
    if not graphs:
        raise DataError(next(iter(skipped.values()), f"{name}: there are no graphs"))
    _say_skipped(skipped, task, len(graphs) if task == "graph" else len(targets.values))
    dataset = from_graphs(
        graphs,
        name=name,
        task=task,
        objective=targets.objective,
        metric=asked.schema.metric if asked.schema else asked.metric,
        class_names=targets.class_names if len(targets.class_names) > 1 else (),
        target_names=targets.target_names,
    )
    schema = asked.schema or Schema(
        task=task,
        objective=dataset.objective,
        metric=dataset.metric,
        target_names=targets.target_names,
        class_names=dataset.class_names,
        node_labels=node_labels,
        feature_names=feature_names,
        edge_names=edge_names,
        edge_labels=edge_labels,
        columns=columns,
        degree_cap=degree_cap,
    )
    if schema.degree_cap is not None:
        dataset = replace(dataset, degree_columns=schema.degree_cap + 1)
    return Read(dataset, schema, tuple(sorted(skipped.items())) if task == "graph" else ())


def _say_skipped(skipped: Mapping[int, str], task: Task, kept: int) -> None:
    """One line for the rows that were left out: the first reason, and how many more there are."""
    if skipped:
        rest = f", and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
        what = (
            f"left out of {kept + len(skipped):,} rows" if task == "graph" else f"without a target, of {kept:,} nodes"
        )
        _log.warning("%s%s: %s", skipped[min(skipped)], rest, what)
