"""A trained model's folder as contents of the report page. An older folder lacks some; the page then says so."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mshgnn.data.schema import Schema
from mshgnn.errors import UserError
from mshgnn.evaluation.rules import RULES, RuleResult, evaluate
from mshgnn.files import read_json, read_text
from mshgnn.predictor.calibration import Calibration
from mshgnn.predictor.columns import Columns
from mshgnn.predictor.config import TrainConfig, load_config
from mshgnn.predictor.ensemble import CONFIG_FILE, Ensemble, trained_folders
from mshgnn.predictor.fold import FoldReport, load_curves
from mshgnn.predictor.predict import predicted
from mshgnn.predictor.shown import load_shown
from mshgnn.predictor.splitting import NAMES as PARTS
from mshgnn.records.codec import checksum
from mshgnn.report.page.contents import FoldCurves, Intervals, Items, Measured, NewData, OneTarget, Subject
from mshgnn.report.page.from_run import RULE
from mshgnn.training.curves import CURVE_NAMES, Curves


def subject_of_model(folder: Path, data: Path | None = None) -> Subject:
    """What ``mshgnn train`` left in a folder; ``data`` is a file whose distance to the training data is asked for."""
    metrics = _metrics(folder)
    config, schema = load_config(folder / CONFIG_FILE), Schema.load(folder / "schema.json")
    splits = _splits(folder / "splits.json")
    trained = trained_folders(folder)
    reports = [report for path in trained if (report := FoldReport.load(path)) is not None]
    curves = [load_curves(path) for path in trained]
    known = [curve for curve in curves if curve is not None]
    complete = known if len(known) == len(reports) else []
    calibration = Calibration.load(folder)
    several = schema.objective == "regress" and len(schema.target_names) > 1
    return Subject(
        name=config.model["name"],
        source="model",
        model=config.model["name"],
        dataset=Path(config.data).name,
        task=schema.task,
        metric_name=schema.metric,
        headline=_measured(config.model["name"], metrics),
        rule=RULE,
        folds=tuple(_fold(n, report, curve) for n, (report, curve) in enumerate(zip(reports, curves, strict=True))),
        controls=tuple(_measured(name, figures) for name, figures in metrics["controls"].items()),
        rules=_rules(complete),
        rules_unit="These figures are in units of each target's deviation, as the training saw them."
        if several
        else "",
        pairing=checksum([config.data, splits]),
        objective=schema.objective,
        class_names=schema.class_names,
        target_names=schema.target_names,
        items=_items(folder, schema),
        intervals=None if calibration is None else Intervals(calibration.coverage, calibration.half_widths),
        shown=load_shown(folder),
        new_data=None if data is None else _new_data(folder, data),
        facts=_facts(config, metrics, reports, splits),
        config=config.to_yaml(),
        notes=("Training was interrupted: these are the best weights so far.",) if metrics["interrupted"] else (),
    )


def is_model(path: Path) -> bool:
    """Whether ``mshgnn train`` made this folder."""
    return (path / CONFIG_FILE).is_file()


def _metrics(folder: Path) -> dict[str, Any]:
    path = folder / "metrics.json"
    if not path.exists():
        raise UserError(f"{folder}: there is no metrics.json in it; run mshgnn train again to finish it")
    content: dict[str, Any] = read_json(path)
    try:
        whole: dict[str, Any] = {"controls": {}, "interrupted": False, "environment": {}, **content}
        lines = [_measured("", figures) for figures in (whole, *whole["controls"].values())]
        if len({tuple(target.name for target in line.targets) for line in lines}) > 1:
            raise ValueError("model and controls have different targets")
        return whole | {"environment": dict(whole["environment"])}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _splits(path: Path) -> list[dict[str, list[int]]]:
    """The rows of each part, fold by fold."""
    content: list[dict[str, list[int]]] = read_json(path)
    try:
        if not content or any(not isinstance(fold[part], list) for fold in content for part in PARTS):
            raise ValueError(f"no rows of {', '.join(PARTS)}")
        return content
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _measured(name: str, figures: Mapping[str, Any]) -> Measured:
    targets = tuple(_target(target, of) for target, of in figures.get("targets", {}).items())
    return Measured(name, tuple(float(value) for value in figures["per_fold"]), targets)


def _target(name: str, figures: Mapping[str, Any]) -> OneTarget:
    values = tuple(None if value is None else float(value) for value in figures["per_fold"])
    return OneTarget(name, tuple(int(count) for count in figures["known"]), values)


def _rules(curves: Sequence[Curves]) -> dict[str, RuleResult]:
    return {name: evaluate(rule, [curves]) for name, rule in RULES.items()} if curves else {}


def _fold(number: int, report: FoldReport, curves: Curves | None) -> FoldCurves:
    if curves is not None:
        series = {name: tuple(getattr(curves, name).tolist()) for name in CURVE_NAMES}
    else:
        series = {"train_loss": report.train_loss, "validation_metric": report.validation_metric}
    return FoldCurves(f"fold {number + 1}", series, report.chosen_epoch - 1)


def _items(folder: Path, schema: Schema) -> Items | None:
    """The predictions of the test parts; None where the file is not there."""
    path = folder / "test_predictions.csv"
    if not path.exists():
        return None
    targets = schema.target_names or ("target",)
    true = [f"{name}_true" for name in targets]
    names = Columns(schema, ["row", "fold", *true], 1, None).names
    if schema.objective in ("classify", "rank"):
        value_columns = names[2:]  # the class and its probability come first
    else:
        value_columns = names[1::2] if schema.objective == "multilabel" else names
    place = {name: number for number, name in enumerate(schema.class_names)}
    text = read_text(path)
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        truth = [[_truth(row[name], place) for name in true] for row in rows]
        values = [[float(row[name]) for name in value_columns] for row in rows]
        folds = tuple(int(row["fold"]) for row in rows)
        return Items(tuple(int(row["row"]) for row in rows), folds, np.array(truth), np.array(values))
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _truth(cell: str, classes: Mapping[str, int]) -> float:
    if classes:
        return float(classes[cell])
    return float(cell) if cell else float("nan")


def _new_data(folder: Path, path: Path) -> NewData:
    """A file through the model: the distance of every row that can be read."""
    model = Ensemble.load(folder)
    columns = Columns(model.schema, [], 1, None)
    rows: list[int] = []
    distances: list[float] = []
    predictions: list[str] = []
    failed = seen = 0
    step = len(columns.names) // max(len(columns.targets), 1)
    for piece in predicted(model, path):
        failed += len(piece.rows) - len(piece.usable)
        if piece.usable:
            rows += [seen + index for index in piece.usable]
            distances += piece.found.distance.tolist()
            cells = columns.rows(piece.found)
            predictions += [", ".join(_short(cell) for cell in line[::step][:4]) for line in cells]
        seen += len(piece.rows)
    if not rows:
        raise UserError(f"{path}: not one row could be read")
    return NewData(path.name, tuple(rows), tuple(distances), tuple(predictions), failed)


def _short(cell: str) -> str:
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return cell


def _facts(
    config: TrainConfig,
    metrics: Mapping[str, Any],
    reports: Sequence[FoldReport],
    splits: Sequence[Mapping[str, Sequence[int]]],
) -> tuple[tuple[str, str], ...]:
    sizes = "/".join(f"{len(splits[0][part]):,}" for part in PARTS)
    return (
        ("model", f"{config.model['name']}, {reports[0].num_parameters:,} parameters"),
        ("data", Path(config.data).name),
        ("split", f"{config.split}, train/validation/test {sizes}"),
        ("folds", str(len(reports))),
        ("seed", str(config.seed)),
        ("epochs", ", ".join(str(len(report.train_loss)) for report in reports)),
        ("chosen epochs", ", ".join(str(report.chosen_epoch) for report in reports)),
        ("training time", f"{sum(report.seconds for report in reports):,.0f} s"),
        *((name, str(value)) for name, value in metrics["environment"].items()),
    )
