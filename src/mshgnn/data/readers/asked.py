"""What is asked of a file, and how its target columns are understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset, Metric, Objective, Task
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.readers.table import Table
from mshgnn.data.readers.text import TOO_LARGE, class_name, classes, is_blank, number
from mshgnn.data.schema import Schema
from mshgnn.data.targets import MANY_CLASSES, objective_of_metric

Cell = str | int | float | None
SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True)
class Asked:
    """Columns by name and what they are for; ``load_own`` explains each."""

    target: tuple[str, ...] = ()
    smiles: str = "smiles"
    objective: Objective | None = None
    metric: Metric | None = None
    id: str | None = None
    split: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    directed: bool = False
    schema: Schema | None = None
    on_error: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        """Refuse a wish that has no meaning."""
        if self.on_error not in ("stop", "skip"):
            raise DataError(f"on_error must be 'stop' or 'skip', not {self.on_error!r}")
        twice = [name for place, name in enumerate(self.target) if name in self.target[:place]]
        if twice:
            raise DataError(f"target {twice[0]!r} is asked for twice")

    @property
    def known_columns(self) -> Mapping[str, str]:
        """The columns by their role that the schema remembers."""
        return (self.schema.columns or {}) if self.schema else {}

    def targets_of(self, table: Table, used: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
        """The target columns: those asked for (``*`` is all that is left), a usual name, or the only one left."""
        if self.schema is not None and self.schema.target_names:
            return self.schema.target_names
        left = [column for column in table.columns if column not in {*used, *self.ignore}]
        if self.target == ("*",):
            return tuple(left)
        there = [column for column in usual if column in table.columns or f"{column}.0" in table.columns]
        chosen = self.target or tuple(there[:1]) or tuple(left if len(left) == 1 else ())
        if not chosen:
            raise DataError(f"{table.path}: line 1: which column is the target? columns are {', '.join(left)[:200]}")
        return chosen

    def split_of(self, table: Table) -> list[str] | None:
        """``train``, ``val``, ``test`` or nothing for every row, where there is such a column."""
        column = self.split or ("split" if "split" in table.columns else None)
        if column is None:
            return None
        words = []
        for row, cell in enumerate(table.cells(column)):
            word = "" if is_blank(cell) else SPLITS.get(cell.strip().casefold())
            if word is None:
                raise DataError(f"{table.where(row, column)}: train, val, test or nothing, not {cell[:40]!r}")
            words.append(word)
        return words

    def weights_of(self, table: Table) -> Tensor | None:
        """How much every row counts in the training loss, where a column says so."""
        if self.weight is None or self.schema is not None:
            return None
        weights = table.numbers([self.weight])[:, 0]
        if bool((weights < 0).any()):
            row = int((weights < 0).nonzero()[0])
            cell = table.cells(self.weight)[row]
            raise DataError(f"{table.where(row, self.weight)}: a weight must not be negative: {cell[:40]!r}")
        return weights

    def refuse_weight(self, path: Path) -> None:
        """Only tables have a column of weights."""
        if self.weight is not None:
            raise DataError(f"{path}: weight column {self.weight!r}: only tables of molecules or of nodes have one")


class TargetColumns(NamedTuple):
    """Targets of all rows ``[rows, T]`` and what they ask for."""

    values: Tensor
    objective: Objective
    class_names: tuple[str, ...]
    target_names: tuple[str, ...]


class Read(NamedTuple):
    """A file as a data set, the schema that made it, and the rows left out, each with the reason."""

    dataset: GraphDataset
    schema: Schema
    skipped: tuple[tuple[int, str], ...] = ()


class Row(NamedTuple):
    """One row of a file. The graph is not encoded yet: it has ``x`` as numbers, or ``labels``, or both, or neither."""

    where: str
    cells: Mapping[str, str]
    """All columns as text; only ``line`` for a ``.jsonl``, ``graph`` for a folder in TU text form."""
    targets: Mapping[str, Cell]
    """What the file says of its targets, by name."""
    graph: Data | None
    problem: str = ""
    """Why there is no graph."""


def read_targets(
    columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str], task: Task, asked: Asked
) -> TargetColumns:
    """Understand target columns: words and few whole numbers are classes, other numbers are regressed.

    Several columns of 0 and 1 are labels. Blanks are missing values; only the class of a graph may not be missing.
    ``where(row, column)`` names a cell.
    """
    schema, names = asked.schema, tuple(columns)
    first = next(iter(names), "target")
    objective = schema.objective if schema else asked.objective
    objective = objective or objective_of_metric(where(0, first), len(names), asked.metric)
    objective = objective or _inferred(columns, where)
    if objective in ("regress", "multilabel"):
        values = torch.tensor([_numbers(columns[name], name, where) for name in names], dtype=torch.float64).t()
        return TargetColumns(values, objective, (), names)
    if len(names) != 1:
        raise DataError(f"{where(0, first)}: {objective} takes one target, not {len(names)}: {', '.join(names)[:100]}")
    labels = []
    for row, cell in enumerate(columns[first]):
        try:
            labels.append(None if task == "node" and _is_missing(cell) else class_name(cell))
        except ValueError as error:
            raise DataError(f"{where(row, first)}: {error}") from error
    if schema is not None:
        class_names = schema.class_names
        numbers = [
            -1 if label is None else schema.class_number(str(label), where(row, first))
            for row, label in enumerate(labels)
        ]
    else:
        class_names, known = classes([label for label in labels if label is not None])
        places = iter(known)
        numbers = [-1 if label is None else next(places) for label in labels]
    return TargetColumns(torch.tensor(numbers).unsqueeze(1), objective, class_names, names)


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
        columns=columns,
        degree_cap=degree_cap,
    )
    if schema.degree_cap is not None:
        dataset = replace(dataset, degree_columns=schema.degree_cap + 1)
    return Read(dataset, schema, tuple(skipped))


def _inferred(columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str]) -> Objective:
    distinct: set[float] = set()
    for name, cells in columns.items():
        for row, cell in enumerate(cells):
            if _is_missing(cell):
                continue
            read = number(cell) if isinstance(cell, str) else cell
            if isinstance(read, int | float) and not isinstance(read, bool):
                distinct.add(read)
            elif len(columns) == 1:
                return "classify"
            else:
                raise DataError(f"{where(row, name)}: several targets must be numbers, not {str(cell)[:40]!r}")
    if len(columns) > 1:
        return "multilabel" if distinct <= {0, 1} else "regress"
    if any(value != int(value) for value in distinct if abs(value) < 2**53):
        return "regress"
    if len(distinct) > MANY_CLASSES:
        raise DataError(
            f"{where(0, next(iter(columns)))}: {len(distinct)} different whole numbers from here on: "
            "say objective 'classify' if they are classes, 'regress' if they are amounts"
        )
    return "classify"


def _numbers(cells: Sequence[Cell], name: str, where: Callable[[int, str], str]) -> list[float]:
    values = []
    for row, cell in enumerate(cells):
        read = float("nan") if _is_missing(cell) else number(cell) if isinstance(cell, str) else cell
        if read is None or isinstance(read, bool) or not isinstance(read, int | float) or abs(read) >= TOO_LARGE:
            raise DataError(f"{where(row, name)}: not a number: {str(cell)[:40]!r}")
        values.append(float(read))
    return values


def _is_missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))
