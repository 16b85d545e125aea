"""The figure that counts, beside what it must beat."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mshgnn.report.page.charts import Ranges, Row
from mshgnn.report.page.contents import Measured, Subject, spread_text
from mshgnn.report.page.section import Block, Figure, Hero, Part, Section, Table, Text
from mshgnn.report.page.targets import target_table

MOST_HEROES = 3
"""Of more subjects only the first is set large."""
MOST_TARGETS = 20
"""The table of more targets waits to be opened."""


def section(subjects: Sequence[Subject]) -> Section:
    """The headline of every subject and its controls on one axis, and what must be known first."""
    blocks: list[Block] = [_hero(one) for one in (subjects if len(subjects) <= MOST_HEROES else subjects[:1])]
    for subject in subjects:
        prefix = f"{subject.name}: " if len(subjects) > 1 else ""
        blocks += [Text(prefix + note, note=True) for note in (*subject.notes, *_warnings(subject))]
    for metric in dict.fromkeys(subject.metric_name for subject in subjects):
        blocks.append(_figure([subject for subject in subjects if subject.metric_name == metric]))
    blocks.append(_table(subjects))
    for subject in subjects:
        blocks += _targets(subject, f"{subject.name}: " if len(subjects) > 1 else "")
    rules = dict.fromkeys(subject.rule for subject in subjects)
    return Section("headline", "Headline", " ".join([_lead(subjects), *rules]), [Part(blocks)])


def _lead(subjects: Sequence[Subject]) -> str:
    """The first subject in one sentence, with the best of its controls."""
    subject = subjects[0]
    sentence = f"{subject.name} has a test {subject.metric.words} of {subject.headline.text(subject.metric)}"
    best = _best(subject.controls, higher_is_better=subject.metric.higher_is_better)
    if best is None:
        return f"{sentence}."
    better = (subject.headline.mean > best.mean) == subject.metric.higher_is_better
    verdict = "beats" if better else "does not beat"
    return f"{sentence} and {verdict} its strongest control, {best.name} ({best.text(subject.metric)})."


def _best(controls: Sequence[Measured], *, higher_is_better: bool) -> Measured | None:
    known = [control for control in controls if math.isfinite(control.mean)]
    if not known:
        return None
    return (max if higher_is_better else min)(known, key=lambda control: control.mean)


def _hero(subject: Subject) -> Hero:
    metric, measured = subject.metric, subject.headline
    folds = len(measured.per_fold)
    spread = "one fold"
    if measured.spread is not None:
        spread = f"± {spread_text(measured.mean, measured.spread, metric)} over {folds} folds"
    value = metric.as_text(measured.mean) if math.isfinite(measured.mean) else "not a number"
    over = f", mean over {len(measured.targets)} targets" if measured.targets else ""
    return Hero(subject.name, value, spread, f"test {metric.words}{over}")


def _warnings(subject: Subject) -> list[str]:
    if not math.isfinite(subject.headline.mean):
        return ["The headline is not a number: at least one fold diverged."]
    if len(subject.headline.per_fold) == 1:
        return ["One fold was run, so there is no spread: another split may give another figure."]
    return []


def _figure(subjects: Sequence[Subject]) -> Figure:
    metric = subjects[0].metric
    rows = [_row(subject.headline, subject, number) for number, subject in enumerate(subjects)]
    controls = {control: subject for subject in subjects for control in subject.controls}  # equal ones once
    rows += [_row(control, subject, 0, hollow=True) for control, subject in controls.items()]
    side = "right" if metric.higher_is_better else "left"
    chart = Ranges(
        f"Test {metric.words}",
        "; ".join(f"{row.label} {row.text}" for row in rows),
        rows,
        f"test {metric.words}",
        x_share=metric.is_share,
    )
    caption = (
        f"Further to the {side} is better. A bar is one standard deviation either side, a small dot one fold; hollow "
        "rings are controls."
    )
    return Figure(chart, caption, wide=True)


def _row(measured: Measured, subject: Subject, colour: int, *, hollow: bool = False) -> Row:
    mean, spread = measured.mean, measured.spread
    low, high = (None, None) if spread is None else (mean - spread, mean + spread)
    label = f"{measured.name} (control)" if hollow else subject.name
    return Row(label, mean, measured.text(subject.metric), low, high, measured.per_fold, colour % 8, hollow)


def _table(subjects: Sequence[Subject]) -> Table:
    rows = []
    for subject in subjects:
        for measured in (subject.headline, *subject.controls):
            control = measured is not subject.headline
            per_fold = ", ".join(subject.metric.as_text(value) for value in measured.per_fold)
            name = f"{measured.name} (control)" if control else subject.name
            rows.append([name, measured.text(subject.metric), per_fold])
    return Table("The figures fold by fold", ["", "mean ± spread", "folds"], rows, folded=True)


def _targets(subject: Subject, prefix: str) -> list[Block]:
    """Each of several targets; the headline is their mean."""
    header, rows = target_table([(line, subject.metric) for line in (subject.headline, *subject.controls)])
    if not rows:
        return []
    header[2:] = [header[2], *(f"{name} (control)" for name in header[3:])]
    caption = f"{prefix}Test {subject.metric.words} target by target"
    return [Table(caption, header, rows, folded=len(rows) > MOST_TARGETS)]
