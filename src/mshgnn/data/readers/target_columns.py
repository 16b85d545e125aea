"""Target columns of a file: which objective they ask for, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, Objective
from mshgnn.data.readers.asked import Asked, Cell
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.text import TOO_LARGE, ClassName, class_name, classes, is_blank, number
from mshgnn.data.schema import Schema
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
    columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str], asked: Asked, bad: BadRows
) -> TargetColumns:
    """Understand target columns: few words or whole numbers are classes, other numbers are regressed.

    Several columns of 0 and 1, or of true and false, are labels. Blanks are missing values. ``where(row, column)``
    names a cell. Rows with a cell that cannot be right are added to ``bad``, their targets are missing.
    """
    schema, names = asked.schema, tuple(columns)
    first = next(iter(names), "target")
    objective = schema.objective if schema else asked.objective
    objective = objective or objective_of_metric(where(0, first), len(names), asked.metric)
    objective = objective or _inferred(columns, where, bad)
    if objective in ("regress", "multilabel"):
        read = [_numbers(columns, name, where, bad, labels=objective == "multilabel") for name in names]
        values = torch.tensor(read, dtype=torch.float64).t().contiguous()
        values[list(bad)] = nan
        empty = [name for name, blank in zip(names, values.isnan().all(dim=0).tolist(), strict=True) if blank]
        if empty and schema is None:  # a later file may say nothing of a target
            raise DataError(next(iter(bad.values()), f"{where(0, empty[0])}: every target is blank"))
        return TargetColumns(values, objective, (), names)
    if len(names) != 1:
        raise DataError(
            f"{where(0, first)}: {objective} takes one target, not {len(names)} ({', '.join(names)[:100]}); "
            "train one model for each"
        )
    labels: list[ClassName | None] = []
    for row, cell in enumerate(columns[first]):
        try:
            labels.append(None if row in bad or _is_missing(cell) else class_name(cell))
        except ValueError as error:
            bad.add(row, f"{where(row, first)}: {error}")
            labels.append(None)
    if schema is not None:
        class_names = schema.class_names
        numbers = [_known(label, schema, row, where(row, first), bad) for row, label in enumerate(labels)]
    else:
        class_names, known = classes([label for label in labels if label is not None])
        if not class_names:
            raise DataError(next(iter(bad.values()), f"{where(0, first)}: every target is blank"))
        places = iter(known)
        numbers = [nan if label is None else next(places) for label in labels]
    dtype = torch.float64 if nan in numbers else torch.int64
    return TargetColumns(torch.tensor(numbers, dtype=dtype).unsqueeze(1), objective, class_names, names)


def _inferred(columns: Mapping[str, Sequence[Cell]], where: Callable[[int, str], str], bad: BadRows) -> Objective:
    """What the cells ask for; what cannot be told is asked of the user."""
    several, amounts = len(columns) > 1, 0
    numbers: set[float] = set()
    words: list[tuple[int, str, str]] = []  # each with its row and column
    for name, cells in columns.items():
        for row, cell in enumerate(cells):
            if row in bad or _is_missing(cell):
                continue
            read = _number(cell, labels=several)
            if read is None:
                words.append((row, name, str(cell).strip()))
            else:
                numbers.add(read)
                amounts += 1
    if several:
        return "multilabel" if numbers <= {0, 1} else "regress"
    whole = all(value.is_integer() for value in numbers if abs(value) < 2**53)
    if not whole and len(words) <= amounts:  # a word among them is a slip of its row, as is an amount among words
        return "regress"
    if numbers:  # infinity is no class among them
        for row, name, word in words:
            if word.casefold().lstrip("+-") in INFINITE:
                bad.add(row, f"{where(row, name)}: not a number: {word[:40]!r}")
    different = {word for row, _, word in words if row not in bad}
    if len(numbers) + len(different) > MANY_CLASSES:
        kind = "words" if different else "whole numbers"
        hint = "" if different else ", 'regress' if they are amounts"
        raise DataError(
            f"{where(0, next(iter(columns)))}: {len(numbers) + len(different)} different {kind} from here on: "
            f"say objective 'classify' if they are classes{hint}"
        )
    return "classify"


def _numbers(
    columns: Mapping[str, Sequence[Cell]],
    name: str,
    where: Callable[[int, str], str],
    bad: BadRows,
    *,
    labels: bool,
) -> list[float]:
    values = []
    for row, cell in enumerate(columns[name]):
        if row in bad or _is_missing(cell):
            values.append(nan)
            continue
        read, said = _number(cell, labels=labels), repr(str(cell).strip()[:40])
        reason = ""
        if read is None and len(columns) > 1:
            reason = f"several targets must be numbers, not {said}; train one model for each target of words"
        elif read is None or abs(read) >= TOO_LARGE:
            reason = f"not a number: {said}"
        elif labels and read not in (0, 1):
            reason = f"labels are 0 or 1, not {said}"
        if reason:
            bad.add(row, f"{where(row, name)}: {reason}")
        values.append(nan if reason or read is None else read)
    return values


def _known(label: ClassName | None, schema: Schema, row: int, where: str, bad: BadRows) -> float:
    """The number of a class of a trained model."""
    try:
        return nan if label is None else schema.class_number(str(label), where)
    except DataError as error:
        bad.add(row, str(error))
        return nan


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
