"""Target columns of a file: which objective they ask for, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, Objective
from mshgnn.data.readers.asked import Asked, Cell
from mshgnn.data.readers.text import TOO_LARGE, ClassName, class_name, classes, is_blank, number
from mshgnn.data.targets import MANY_CLASSES, objective_of_metric

TRUTH = {"true": 1.0, "false": 0.0}
INFINITE = ("inf", "infinity")


class TargetColumns(NamedTuple):
    """Targets of all rows ``[rows, T]`` and what they ask for."""

    values: Tensor
    objective: Objective
    class_names: tuple[str, ...]
    target_names: tuple[str, ...]


def read_targets(
    columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str], asked: Asked
) -> TargetColumns:
    """Understand target columns: few words or whole numbers are classes, other numbers are regressed.

    Several columns of 0 and 1, or of true and false, are labels. Blanks are missing values. ``where(row, column)``
    names a cell.
    """
    schema, names = asked.schema, tuple(columns)
    first = next(iter(names), "target")
    objective = schema.objective if schema else asked.objective
    objective = objective or objective_of_metric(where(0, first), len(names), asked.metric)
    objective = objective or _inferred(columns, where)
    if objective in ("regress", "multilabel"):
        labels = objective == "multilabel"
        read = [_numbers(columns[name], name, where, labels=labels) for name in names]
        values = torch.tensor(read, dtype=torch.float64).t()
        return TargetColumns(values, objective, (), names)
    if len(names) != 1:
        raise DataError(
            f"{where(0, first)}: {objective} takes one target, not {len(names)} ({', '.join(names)[:100]}); "
            "train one model for each"
        )
    labels_of_rows: list[ClassName | None] = []
    for row, cell in enumerate(columns[first]):
        try:
            labels_of_rows.append(None if _is_missing(cell) else class_name(cell))
        except ValueError as error:
            raise DataError(f"{where(row, first)}: {error}") from error
    if schema is not None:
        class_names = schema.class_names
        numbers = [
            nan if label is None else schema.class_number(str(label), where(row, first))
            for row, label in enumerate(labels_of_rows)
        ]
    else:
        class_names, known = classes([label for label in labels_of_rows if label is not None])
        if not class_names:
            raise DataError(f"{where(0, first)}: every target is blank")
        places = iter(known)
        numbers = [nan if label is None else next(places) for label in labels_of_rows]
    dtype = torch.float64 if nan in numbers else torch.int64
    return TargetColumns(torch.tensor(numbers, dtype=dtype).unsqueeze(1), objective, class_names, names)


def _inferred(columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str]) -> Objective:
    """What the cells ask for; what cannot be told is asked of the user."""
    numbers: set[float] = set()
    words: dict[str, tuple[int, str]] = {}  # each with the first row and column it is in
    for name, cells in columns.items():
        for row, cell in enumerate(cells):
            if _is_missing(cell):
                continue
            read = _number(cell, labels=len(columns) > 1)
            if read is not None:
                numbers.add(read)
            else:
                words.setdefault(str(cell).strip(), (row, name))
    whole = all(value.is_integer() for value in numbers if abs(value) < 2**53)
    infinite = [place for word, place in words.items() if word.casefold().lstrip("+-") in INFINITE]
    odd = infinite if numbers else []  # a word among amounts is a slip of that row
    if words and (len(columns) > 1 or not whole):
        odd = odd or list(words.values())
    if odd:
        row, name = odd[0]
        cell = repr(str(columns[name][row])[:40])
        several = f"several targets must be numbers, not {cell}; train one model for each target of words"
        raise DataError(f"{where(row, name)}: {several if len(columns) > 1 else f'not a number: {cell}'}")
    if len(columns) > 1:
        return "multilabel" if numbers <= {0, 1} else "regress"
    if not whole:
        return "regress"
    if len(numbers) + len(words) > MANY_CLASSES:
        kind = "words" if words else "whole numbers"
        amounts = "" if words else ", 'regress' if they are amounts"
        raise DataError(
            f"{where(0, next(iter(columns)))}: {len(numbers) + len(words)} different {kind} from here on: "
            f"say objective 'classify' if they are classes{amounts}"
        )
    return "classify"


def _numbers(cells: Sequence[Cell], name: str, where: Callable[[int, str], str], *, labels: bool) -> list[float]:
    values = []
    for row, cell in enumerate(cells):
        read = float("nan") if _is_missing(cell) else _number(cell, labels=labels)
        if read is None or abs(read) >= TOO_LARGE:
            raise DataError(f"{where(row, name)}: not a number: {str(cell)[:40]!r}")
        values.append(read)
    return values


def _number(cell: Cell, *, labels: bool) -> float | None:
    """A cell as a number, or None; among ``labels``, true and false are 1 and 0."""
    if isinstance(cell, str):
        return TRUTH[cell.strip().casefold()] if labels and cell.strip().casefold() in TRUTH else number(cell)
    return float(cell) if isinstance(cell, int | float) and abs(cell) < 2**1000 else None


def _is_missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))


def names_of_columns(name: str, columns: int) -> tuple[str, ...]:
    """The names of targets that a file only numbers."""
    return (name,) if columns == 1 else tuple(f"{name}_{column}" for column in range(columns))


def named_columns(values: Tensor, name: str) -> dict[str, list[Cell]]:
    """An array of targets, ``[n]`` or ``[n, T]``, as columns of cells; whole numbers miss by -1, others by NaN."""
    rows = values if values.dim() == 2 else values.unsqueeze(1)
    missing = rows.isnan() if rows.is_floating_point() else rows == -1
    return {
        column: [None if gone else cell for cell, gone in zip(cells.tolist(), blanks.tolist(), strict=True)]
        for column, cells, blanks in zip(names_of_columns(name, rows.shape[1]), rows.t(), missing.t(), strict=True)
    }
