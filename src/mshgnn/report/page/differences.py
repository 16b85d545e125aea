"""The first subject against every other and against its controls, fold by fold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mshgnn.report.page.charts import Ranges, Row
from mshgnn.report.page.contents import Measured, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Part, Section, Table, Text

TITLE = "Paired differences"


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """Mean differences with their standard errors; right of zero favours the first."""
    first = subjects[0]
    pairs = [(control.name, control, True) for control in first.controls]
    pairs += [(other.name, other.headline, False) for other in subjects[1:] if _same_folds(first, other)]
    apart = [other.name for other in subjects[1:] if not _same_folds(first, other)]
    rows, cells = [], []
    for name, measured, control in pairs:
        row, cell = _row(first, f"{name} (control)" if control else name, measured)
        rows.append(row)
        cells.append(cell)
    if not rows:
        why = "there is nothing to compare with: give other runs of the same folds, or train with controls"
        return Missing(TITLE, f"{why}; of other folds: {', '.join(apart)}" if apart else why)
    metric, folds = first.metric, len(first.headline.per_fold)
    chart = Ranges(
        f"{first.name} minus others",
        "; ".join(f"{row.label}: {row.text}" for row in rows),
        rows,
        f"difference in test {metric.words}, oriented so that more is better",
        x_share=metric.is_share,
        zero=0.0,
    )
    bar = (
        "A bar is two standard errors either side, a small dot one fold."
        if folds > 1
        else "With one fold there is no error bar."
    )
    blocks: list[Block] = [Figure(chart, f"Right of the line {first.name} is better. {bar}", wide=True)]
    header = ["against", "mean difference", "standard error", "folds better"]
    blocks.append(Table("The differences in figures", header, cells, folded=True))
    if apart:
        text = f"Not compared, for they had other folds or another metric: {', '.join(apart)}."
        blocks.append(Text(text, note=True))
    lead = "Two models on the same fold share its luck, so their difference says more than their two figures."
    return Section("differences", TITLE, lead, [Part(blocks)])


def _same_folds(one: Subject, other: Subject) -> bool:
    alike = one.pairing == other.pairing and one.metric_name == other.metric_name
    return bool(one.pairing) and alike and len(one.headline.per_fold) == len(other.headline.per_fold)


def _row(first: Subject, label: str, other: Measured) -> tuple[Row, list[str]]:
    sign = 1 if first.metric.higher_is_better else -1
    difference = sign * (np.array(first.headline.per_fold) - np.array(other.per_fold))
    mean = float(difference.mean())
    count = len(difference)
    error = float(difference.std(ddof=1)) / math.sqrt(count) if count > 1 else None
    low, high = (None, None) if error is None else (mean - 2 * error, mean + 2 * error)
    text = _text(mean, first) + ("" if error is None else f" ± {_text(error, first, sign=False)}")
    better = f"{int((difference > 0).sum())} of {count}"
    dots = difference.tolist() if count > 1 else ()
    cells = [label, _text(mean, first), "–" if error is None else _text(error, first, sign=False), better]
    return Row(label, mean, text, low, high, dots), cells


def _text(value: float, subject: Subject, *, sign: bool = True) -> str:
    plus = "+" if sign else ""
    if not math.isfinite(value):
        return "not a number"
    return f"{100 * value:{plus}.2f} points" if subject.metric.is_share else f"{value:{plus}.4g}"
