"""``mshgnn evaluate``: how good a trained model is on a file whose targets are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.data import METRICS, DataError, GraphDataset
from mshgnn.data.readers.asked import Cell, Row
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.target_columns import read_targets
from mshgnn.predictor.ensemble import Ensemble, OnError
from mshgnn.predictor.measuring import measured
from mshgnn.predictor.predict import PredictionFailed, columns_of_source, has_named_columns, predicted, table_of
from mshgnn.report.page.contents import Measured
from mshgnn.training.objective import objective_of


class Evaluation(NamedTuple):
    """All metrics of the objective, and the share of values that their intervals hold (regressions alone)."""

    measured: tuple[Measured, ...]
    """Each metric by its name, the model's own first."""
    items: int
    failed: int
    first_problem: str
    """Why the first of the failed rows could not be read."""
    held: float | None
    promised: float | None

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics alone; of several targets the mean."""
        return {line.name: line.mean for line in self.measured}


def evaluate_file(model: Ensemble, path: Path, *, on_error: OnError = "stop") -> Evaluation:
    """Predict a file and compare with its own targets; a class that was not in the training data is none to read."""
    if has_named_columns(model, path):
        _check_columns(model, path)
    values: list[Tensor] = []
    truth: list[Tensor] = []
    rows = failed = 0
    first = ""
    for piece in predicted(model, path, on_error=on_error):
        rows += len(piece.rows)
        target, bad = _truth(model, [piece.rows[index] for index in piece.usable], on_error)
        problems = list(piece.problems)
        for index, reason in bad.items():
            problems[piece.usable[index]] = reason
        failed += sum(map(bool, problems))
        first = first or next(filter(None, problems), "")
        if piece.usable:
            known = ~target.isnan().reshape(len(target), -1).all(dim=1)
            values.append(piece.found.values[known])
            truth.append(target[known])
    if not rows:
        raise DataError(f"{path}: there are no rows")
    if not values:
        raise PredictionFailed(f"{path}: not one row could be read, the first: {first}")
    found, target = torch.cat(values), torch.cat(truth)
    if not len(target):
        because = f", or cannot be read: {first}" if first else ""
        raise DataError(f"{path}: every target is blank{because}: there is nothing to compare with")
    if model.schema.objective in ("classify", "rank"):
        target = target.long()
    return Evaluation(_measured(model, found, target), len(target), failed, first, *_coverage(model, found, target))


def _check_columns(model: Ensemble, path: Path) -> None:
    there = columns_of_source(model, path)
    missing = [name for name in model.target_names if name not in there]
    if missing:
        where = f"{table_of(model, path)}: line 1"
        raise DataError(f"{where}: no column {missing[0]!r} to compare with; columns are {', '.join(there)[:200]}")


def _truth(model: Ensemble, rows: list[Row], on_error: OnError) -> tuple[Tensor, BadRows]:
    """Targets ``[n]`` or ``[n, T]`` as the readers understand them, NaN where they are blank or in a bad row."""
    names, bad = model.target_names, BadRows(on_error)
    for index, row in enumerate(rows):
        if missing := [name for name in names if name not in row.targets]:
            bad.add(index, f"{row.where}: no target {missing[0]!r} to compare with")
    columns: dict[str, list[Cell]] = {name: [row.targets.get(name) for row in rows] for name in names}
    read = read_targets(columns, lambda row, name: f"{rows[row].where}: column {name!r}", model.asked(on_error), bad)
    single = model.schema.objective in ("classify", "rank")
    return (read.values[:, 0] if single else read.values).float(), bad


def _measured(model: Ensemble, found: Tensor, target: Tensor) -> tuple[Measured, ...]:
    schema = model.schema
    metrics = METRICS[schema.objective]
    outline = GraphDataset(
        model.folder.name, schema.task, [], 0, len(schema.class_names), metrics[0], "", objective=schema.objective,
        class_names=schema.class_names, target_names=schema.target_names,
    )  # fmt: skip
    chosen = sorted(metrics, key=lambda name: name != schema.metric)  # the model's own first
    objectives = [objective_of(replace(outline, metric=name)) for name in chosen]
    return tuple(measured(one.metric, one, [found], [target], schema.target_names) for one in objectives)


def _coverage(model: Ensemble, found: Tensor, target: Tensor) -> tuple[float | None, float | None]:
    calibration = model.calibration
    if calibration is None or model.schema.objective != "regress" or None in calibration.half_widths:
        return None, None
    widths = torch.tensor([width for width in calibration.half_widths if width is not None])
    known = ~target.isnan()
    inside = (found - target).abs() <= widths
    return float(inside[known].float().mean()), calibration.coverage
