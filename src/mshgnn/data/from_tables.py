"""A node task from two tables in memory: pandas data frames of nodes and of edges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mshgnn.data.dataset import DataError, GraphDataset, Metric, Objective
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.node_tables import understand_tables
from mshgnn.data.readers.table import Table


def from_tables(
    nodes: Any,
    edges: Any,
    *,
    name: str = "own",
    target: str | Iterable[str] = (),
    objective: Objective | None = None,
    metric: Metric | None = None,
    id_column: str | None = None,
    split_column: str | None = None,
    weight_column: str | None = None,
    ignore: Iterable[str] = (),
    directed: bool = False,
) -> GraphDataset:
    """One graph out of data frames: what ``load_own`` makes of the files ``nodes.csv`` and ``edges.csv``.

    Args:
        nodes: a row per node: its id, features, target and, if wanted, split and weight.
        edges: a row per edge: the ids of the two nodes in the first two columns, edge features in the others.
        name: what messages and tables call it.
        target: this and the others as in :func:`load_own`. Missing values are blanks.
        objective: as there.
        metric: as there.
        id_column: as there.
        split_column: as there.
        weight_column: as there.
        ignore: as there.
        directed: as there.
    """
    asked = Asked(
        target=(target,) if isinstance(target, str) else tuple(target),
        objective=objective,
        metric=metric,
        id=id_column,
        split=split_column,
        weight=weight_column,
        ignore=tuple(ignore),
        directed=directed,
    )
    return understand_tables(_table(nodes, f"{name}: nodes"), _table(edges, f"{name}: edges"), name, asked).dataset


def _table(frame: Any, name: str) -> Table:
    """The cells as the readers of files see them; rows count from 1."""
    if not hasattr(frame, "columns") or not hasattr(frame, "isna"):
        raise DataError(f"{name}: must be a pandas data frame, not {type(frame).__name__}")
    names = [str(column) for column in frame.columns]
    if len(set(names)) != len(names):
        raise DataError(f"{name}: two columns have one name")
    columns = {}
    for place, column in enumerate(names):
        missing = frame.isna().iloc[:, place].tolist()
        cells = frame.iloc[:, place].tolist()
        columns[column] = ["" if gone else str(cell) for cell, gone in zip(cells, missing, strict=True)]
    return Table(Path(name), columns, list(range(1, len(frame) + 1)))
