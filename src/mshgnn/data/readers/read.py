"""What a reader gives: the data set, and the schema that made it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from torch_geometric.data import Data

from mshgnn.data.dataset import GraphDataset, Task
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
    skipped: Sequence[tuple[int, str]] = (),
) -> Read:
    """The data set of graphs whose ``x`` and ``y`` are set, with the schema asked for or the one just made."""
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
    return Read(dataset, schema, tuple(skipped))


def say_skipped(skipped: Sequence[tuple[int, str]], rows: int) -> None:
    """One line for the rows that were left out: the first reason, and how many more there are."""
    if skipped:
        rest = f", and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
        _log.warning("%s%s: left out of %s rows", skipped[0][1], rest, f"{rows:,}")
