"""How training went: loss and metric by epoch, with the spread over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mshgnn.evaluation.rules import extended
from mshgnn.report.page.charts import Line, Lines
from mshgnn.report.page.contents import Array, FoldCurves, Subject
from mshgnn.report.page.section import Block, Figure, Part, Section, Text

MOST_EPOCHS = 400
"""Longer curves are thinned to so many points."""
MOST_SUBJECTS = 8
FEW = 3
"""Of more subjects only the validation lines are drawn, without bands: more could not be read."""


def section(subjects: Sequence[Subject]) -> Section:
    """Loss on the left, metric on the right, one colour for each subject."""
    trained = [subject for subject in subjects if any(_epochs(fold) > 1 for fold in subject.folds)] or subjects
    drawn = trained[:MOST_SUBJECTS]
    metrics = dict.fromkeys(subject.metric_name for subject in drawn)
    loss = _chart(drawn, "loss", "Loss", share=False)
    blocks: list[Block] = [Figure(loss, "Lower is better. " + _reading(drawn))] if loss.lines else []
    for name in metrics:
        alike = [subject for subject in drawn if subject.metric_name == name]
        metric = alike[0].metric
        chart = _chart(alike, "metric", metric.words[:1].upper() + metric.words[1:], share=metric.is_share)
        side = "Higher" if metric.higher_is_better else "Lower"
        if chart.lines:
            dots = " Dots are the epochs that validation chose." if len(alike) <= FEW else ""
            blocks.append(Figure(chart, f"{side} is better.{dots}"))
    blocks += [Text(note, note=True) for subject in subjects for note in _notes(subject, several=len(subjects) > 1)]
    if len(drawn) < len(subjects):
        left_out = "; what has no epochs has no curves" if len(trained) < len(subjects) else ""
        blocks.append(Text(f"{len(drawn)} of {len(subjects)} are drawn{left_out}."))
    lead = "Training has settled where the validation curve is level; where it turns back, the model overfits."
    return Section("curves", "Learning curves", lead, [Part(blocks)])


def _epochs(fold: FoldCurves) -> int:
    return max((len(values) for values in fold.series.values()), default=0)


def _reading(subjects: Sequence[Subject]) -> str:
    several = any(len(subject.folds) > 1 for subject in subjects)
    if len(subjects) > FEW:
        return "Lines are validation," + (" means over folds." if several else " one fold.")
    spread = " Lines are means over folds, bands one standard deviation." if several else ""
    return f"Solid is validation, dashed is training.{spread}"


def _chart(subjects: Sequence[Subject], kind: str, title: str, *, share: bool) -> Lines:
    lines = []
    for number, subject in enumerate(subjects):
        for part in ("train", "validation") if len(subjects) <= FEW else ("validation",):
            curves = [fold for fold in subject.folds if f"{part}_{kind}" in fold.series]
            if curves:
                line = _line(subject, curves, part, kind, number)
                lines.append(
                    line if len(subjects) <= FEW else replace(line, name=subject.name, low=(), high=(), marks=())
                )
    names = ", ".join(subject.name for subject in subjects)
    return Lines(title, f"{title} by epoch of {names}", lines, "epoch", y_share=share)


def _line(subject: Subject, folds: Sequence[FoldCurves], part: str, kind: str, colour: int) -> Line:
    key = f"{part}_{kind}"
    longest = max(len(fold.series[key]) for fold in folds)
    curves = np.stack([extended(np.asarray(fold.series[key], dtype=np.float64), longest) for fold in folds])
    curves[~np.isfinite(curves)] = np.nan
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    kept = np.unique(np.linspace(0, longest - 1, min(longest, MOST_EPOCHS)).astype(int))
    validation = part == "validation"
    marks = [
        (float(fold.chosen + 1), float(fold.series[key][fold.chosen]))
        for fold in folds
        if validation and kind == "metric" and fold.chosen is not None
    ]
    band: dict[str, Array] = {}
    if validation and len(folds) > 1:
        band = {"low": (mean - spread)[kept], "high": (mean + spread)[kept]}
    name = f"{subject.name}, {'validation' if validation else 'training'}"
    return Line(
        name,
        (kept + 1).tolist(),
        mean[kept].tolist(),
        colour,
        not validation,
        marks=marks,
        **{side: values.tolist() for side, values in band.items()},
    )


def _notes(subject: Subject, *, several: bool) -> list[str]:
    """What is odd about the curves, in words."""
    prefix = f"{subject.name}: " if several else ""
    notes = []
    for fold in subject.folds:
        loss = np.asarray(fold.series.get("train_loss", ()), dtype=np.float64)
        broken = np.flatnonzero(~np.isfinite(loss))
        if len(broken):
            notes.append(f"{prefix}the loss of {fold.name} is not a number from epoch {broken[0] + 1} on.")
    if not any("validation_metric" in fold.series for fold in subject.folds):
        notes.append(f"{prefix}there is no validation part, so there is no validation curve.")
    return notes[:6]
