"""Predicted against true numbers, and what is left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mshgnn.report.page.charts import Scatter, View
from mshgnn.report.page.contents import Array, Items, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Table, Text, for_each
from mshgnn.report.page.selection import shown_of


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """Points on the diagonal are right; residuals show where the model leans to one side."""
    lead = "A point on the line is a perfect prediction; the further away, the larger the error."
    return for_each("parity", "Parity and residuals", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    if subject.items is None:
        return "a run keeps curves, not predictions"
    if subject.objective != "regress":
        return "the targets are classes, see confusion"
    items, shown = subject.items, np.array(shown_of(subject).items, dtype=np.int64)
    views: list[View] = []
    for target, name in enumerate(subject.target_names):
        truth, found = items.truth[shown, target], items.values[shown, target]
        points = np.flatnonzero(np.isfinite(truth) & np.isfinite(found))
        x, y = truth[points], found[points]
        parity = View(name, "parity", points.tolist(), x.tolist(), y.tolist(), diagonal=True)
        left_over = View(name, "residuals", points.tolist(), y.tolist(), (y - x).tolist(), level=True)
        views.append(replace(parity, x_label=f"true {name}", y_label=f"predicted {name}"))
        views.append(replace(left_over, x_label=f"predicted {name}", y_label=f"predicted − true {name}"))
    rows = [[name, *_figures(items, target)] for target, name in enumerate(subject.target_names)]
    summary = f"Predicted against true values of {len(items):,} test {subject.things}; {_worst(rows)}"
    chart = Scatter("Predicted against true", summary, number, views, [number % 8] * len(shown))
    caption = "Point at a dot, or use the arrow keys, to see its graph. " + _worst(rows)
    header = ["target", "RMSE", "MAE", "R²", "bias (predicted − true)", "known"]
    blocks: list[Block] = [Figure(chart, caption, wide=True)]
    blocks.append(Table("Target by target", header, rows, folded=len(rows) == 1))
    if len(shown) < len(items):
        blocks.append(Text(f"{len(shown):,} of {len(items):,} test items are drawn; the table is of all."))
    if any(row[-1] == "0" for row in rows):
        blocks.append(Text("A target without any known value in the test part has no figures.", note=True))
    return blocks


def _figures(items: Items, target: int) -> list[str]:
    truth, found = items.truth[:, target], items.values[:, target]
    known = ~np.isnan(truth)
    count = int(known.sum())
    if not count:
        return ["–", "–", "–", "–", "0"]
    error: Array = found[known] - truth[known]
    deviation = float(((truth[known] - truth[known].mean()) ** 2).sum())
    explained = f"{1 - float((error**2).sum()) / deviation:.3f}" if deviation > 0 else "–"
    rmse, mae = float(np.sqrt((error**2).mean())), float(np.abs(error).mean())
    return [f"{rmse:.4g}", f"{mae:.4g}", explained, f"{float(error.mean()):+.3g}", f"{count:,}"]


def _worst(rows: Sequence[Sequence[str]]) -> str:
    """R² of the only target, or the targets with the largest and smallest."""
    known = [(float(row[3]), row[0]) for row in rows if row[3] != "–"]
    if not known:
        return "No target varies in the test part."
    if len(rows) == 1:
        return f"R² is {known[0][0]:.3f}."
    low, high = min(known), max(known)
    return f"R² runs from {low[0]:.3f} ({low[1]}) to {high[0]:.3f} ({high[1]})."
