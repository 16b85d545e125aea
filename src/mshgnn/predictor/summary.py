"""What a training ends with: test metric beside controls, predictions of the test parts, histories, a page."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.readers.read import Read
from mshgnn.data.splits import Split
from mshgnn.files import write_atomically
from mshgnn.machine import environment
from mshgnn.predictor.calibration import CALIBRATION_FILE, Calibration
from mshgnn.predictor.coding import recoded
from mshgnn.predictor.columns import Columns
from mshgnn.predictor.config import TrainConfig
from mshgnn.predictor.contents import subject_of_model
from mshgnn.predictor.controls import control_values
from mshgnn.predictor.ensemble import Prediction
from mshgnn.predictor.fold import FoldReport
from mshgnn.predictor.measuring import measured
from mshgnn.predictor.member import Computed, Member
from mshgnn.predictor.shown import make_shown, save_shown
from mshgnn.predictor.units import Units
from mshgnn.report.page.build import build
from mshgnn.report.page.contents import Measured, OneTarget
from mshgnn.training.metrics import KNOWN_METRICS
from mshgnn.training.objective import objective_of

MIXED = "of each target in deviations of its training part, so that every target counts; not to be compared with test"
RULE = "best_validation: the test metric at the epoch that is best on validation"


@dataclass(frozen=True)
class Summary:
    """A training as its last table shows it."""

    metric: str
    lines: tuple[Measured, ...]
    """The model first, then the controls."""
    seconds: float
    folder: Path
    interrupted: bool
    folds: int


def summarise(
    config: TrainConfig,
    read: Read,
    folds: Sequence[Split],
    rows: Sequence[int],
    reports: Sequence[FoldReport],
    folder: Path,
    *,
    interrupted: bool,
) -> Summary:
    """Measure the folds and write everything that is to be read."""
    dataset, objective = read.dataset, objective_of(read.dataset)
    labels = dataset.labels()
    members = [Member.load(folder / f"model_{number}") for number in range(len(folds))]
    computed = [_held_out(dataset, read, member, split) for member, split in zip(members, folds, strict=True)]
    found = [made.values for made in computed]
    truth = [labels[split.test] for split in folds]
    by_name: dict[str, list[Tensor]] = {config.model["name"]: found}
    if config.controls and not interrupted:
        for split in folds:
            for name, control in control_values(dataset, split).items():
                by_name.setdefault(name, []).append(control)
    names = dataset.target_names
    lines = tuple(measured(name, objective, values, truth, names) for name, values in by_name.items())
    seconds = sum(report.seconds for report in reports)
    summary = Summary(objective.metric, lines, seconds, folder, interrupted, len(folds))
    if dataset.objective == "regress":
        calibration = Calibration.of(torch.cat(found), torch.cat(truth), config.coverage)
        write_atomically(folder / CALIBRATION_FILE, calibration.to_json().encode())
    units = Units.of(objective.metric, members[0].schema)
    write_atomically(folder / "metrics.json", _metrics(config, summary, reports, units).encode())
    write_atomically(folder / "test_predictions.csv", _predictions(read, folds, rows, found).encode())
    write_atomically(folder / "history.csv", _history(objective.metric, reports, units).encode())
    if read.skipped:
        write_atomically(folder / "left_out.csv", _left_out(read).encode())
    save_shown(make_shown(dataset, read.schema, folds, computed, members), folder)
    write_atomically(folder / "report.html", build([subject_of_model(folder)]).encode())
    return summary


def _held_out(dataset: GraphDataset, read: Read, member: Member, split: Split) -> Computed:
    """What a member makes of its own test part."""
    own = recoded(dataset, read.schema, member.schema, edge_features=member.model.edge_dim is not None)
    if dataset.task == "node":
        made = member.compute(own.graphs)
        return Computed(made.values[split.test], made.embeddings[split.test])
    return member.compute([own.graphs[index] for index in split.test.tolist()])


def _metrics(config: TrainConfig, summary: Summary, reports: Sequence[FoldReport], units: Units) -> str:
    model, *controls = summary.lines
    better = KNOWN_METRICS[summary.metric].higher_is_better
    return (
        json.dumps(
            {
                "metric": summary.metric,
                "higher_is_better": better,
                "rule": RULE,
                **_figures(model),
                "model": config.model["name"],
                "num_parameters": reports[0].num_parameters,
                "validation": [_finite(report.validation_metric[report.chosen_epoch - 1]) for report in reports],
                "validation_is": MIXED if units.mixed else "in the units of the test metric",
                "chosen_epochs": [report.chosen_epoch for report in reports],
                "epochs": [len(report.train_loss) for report in reports],
                "controls": {line.name: _figures(line) for line in controls},
                "split": config.split,
                "seed": config.seed,
                "interrupted": summary.interrupted,
                "seconds": summary.seconds,
                "environment": environment(),
            },
            indent=1,
        )
        + "\n"
    )


def _figures(line: Measured) -> dict[str, Any]:
    over = f"standard deviation over {len(line.per_fold)} folds" if line.spread is not None else "one fold: no spread"
    figures: dict[str, Any] = {
        "mean": _finite(line.mean),
        "spread": None if line.spread is None else _finite(line.spread),
        "spread_is": over,
        "per_fold": [_finite(value) for value in line.per_fold],
    }
    if line.targets:
        figures["targets"] = {target.name: _of_target(target) for target in line.targets}
    return figures


def _of_target(target: OneTarget) -> dict[str, Any]:
    """A fold that does not define the metric has null, and is in neither mean nor spread."""
    there = target.measured
    return {
        "known": target.known,
        "mean": None if there is None else _finite(there.mean),
        "spread": None if there is None or there.spread is None else _finite(there.spread),
        "per_fold": [None if value is None else _finite(value) for value in target.per_fold],
    }


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _predictions(read: Read, folds: Sequence[Split], rows: Sequence[int], found: Sequence[Tensor]) -> str:
    """One row for each test item: row of the file (from 0), fold, truth and prediction."""
    labels = read.dataset.labels()
    columns = Columns(read.schema, ["row", "fold", *(f"{name}_true" for name in _targets(read))], 1, None)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "fold", *(f"{name}_true" for name in _targets(read)), *columns.names])
    for number, (split, values) in enumerate(zip(folds, found, strict=True)):
        cells = columns.rows(Prediction(values, torch.zeros_like(values), torch.zeros(len(values)), ()))
        for item, new in zip(split.test.tolist(), cells, strict=True):
            writer.writerow([rows[item], number, *_truth(read, labels[item]), *new])
    return text.getvalue()


def _left_out(read: Read) -> str:
    """Every row that could not be read, counted as in ``splits.json``, and why."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "reason"])
    writer.writerows(read.skipped)
    return text.getvalue()


def _targets(read: Read) -> tuple[str, ...]:
    return read.schema.target_names or ("target",)


def _truth(read: Read, label: Tensor) -> list[str]:
    if label.dim() == 0:
        return [read.dataset.class_names[int(label)]]
    return ["" if math.isnan(value) else f"{value:.7g}" for value in label.tolist()]


def _history(metric: str, reports: Sequence[FoldReport], units: Units) -> str:
    name = f"validation_{metric}{'_in_deviations' if units.mixed else ''}"
    lines = [f"fold,epoch,train_loss,{name},chosen"]
    for fold, report in enumerate(reports):
        for epoch, (loss, value) in enumerate(zip(report.train_loss, report.validation_metric, strict=True), 1):
            lines.append(f"{fold},{epoch},{loss:.7g},{value:.7g},{int(epoch == report.chosen_epoch)}")
    return "\n".join(lines) + "\n"
