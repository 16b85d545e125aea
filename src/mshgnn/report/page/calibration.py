"""Whether probabilities and intervals keep their word."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mshgnn.report.page.charts import Line, Lines
from mshgnn.report.page.confusion import share
from mshgnn.report.page.contents import Array, Items, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Table, Text, for_each

BINS = 10
PROMISES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
PARTS = 5
FEWEST = 30
"""Below so many items a curve is mostly noise, and the page says so."""


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """Reliability for classes and labels, coverage for numbers."""
    lead = "A model keeps its word if things that it calls 80 % sure are right 80 times in 100."
    return for_each("calibration", "Calibration", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    items = subject.items
    if items is None:
        return "a run keeps curves, not predictions"
    if subject.objective == "regress":
        return _coverage(subject, items, number)
    sure, right = _sure(subject, items)
    if not len(sure):
        return "no test item has a known truth"
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows = []
    for one in range(BINS):
        inside = bins == one
        if inside.any():
            rows.append((float(sure[inside].mean()), float(right[inside].mean()), int(inside.sum())))
    gap = sum(abs(said - held) * count for said, held, count in rows) / len(sure)
    line = _judged(subject.name, rows, number)
    leaning = "overconfident" if sure.mean() > right.mean() else "too modest"
    verdict = f"Said and true shares differ by {100 * gap:.1f} points on average; on the whole the model is {leaning}."
    chart = Lines(
        "Reliability", verdict, [line], "how sure the model says it is", "share that is right",
        x_share=True, y_share=True, diagonal=True, limits=(0.0, 1.0),
    )  # fmt: skip
    table = Table(
        "The bins",
        ["said", "right", "items"],
        [[share(said, 1), share(held, 1), f"{count:,}"] for said, held, count in rows],
        folded=True,
    )
    blocks: list[Block] = [
        Figure(chart, f"{verdict} Below the line it promises too much. The band is one standard error.")
    ]
    return [*blocks, table, *_few(len(sure))]


def _sure(subject: Subject, items: Items) -> tuple[Array, Array]:
    """How sure the model is of what it says, and whether that is right; for labels of every label's 1."""
    if subject.has_classes:
        known = np.isfinite(items.truth[:, 0])
        found = items.values[known].argmax(axis=1)
        return items.values[known].max(axis=1), (found == items.truth[known, 0]).astype(np.float64)
    known = np.isfinite(items.truth)
    return items.values[known], items.truth[known]


def _judged(name: str, rows: Sequence[tuple[float, float, int]], number: int) -> Line:
    """What was said, what held and of how many, as a line with its standard error."""
    error = [math.sqrt(max(held * (1 - held), 0.25 / count) / count) for _, held, count in rows]
    held = [share for _, share, _ in rows]
    return Line(
        name,
        [said for said, _, _ in rows],
        held,
        number % 8,
        low=[max(0.0, share - one) for share, one in zip(held, error, strict=True)],
        high=[min(1.0, share + one) for share, one in zip(held, error, strict=True)],
        marks=[(said, share) for said, share, _ in rows],
    )


def _few(count: int) -> list[Block]:
    text = f"There are only {count} values to judge by: read this with care."
    return [Text(text, note=True)] if count < FEWEST else []


def _coverage(subject: Subject, items: Items, number: int) -> list[Block] | str:
    """What intervals of several promises hold, each fifth of the items judged by the other four."""
    errors = [np.abs(v - t)[~np.isnan(v - t)] for v, t in zip(items.values.T, items.truth.T, strict=True)]
    known = sum(map(len, errors))
    held = [(promise, *_held(errors, promise)) for promise in PROMISES]
    usable = [(promise, inside / count, count) for promise, inside, count in held if count]
    if not usable:
        return f"{known} test values are too few to judge intervals by"
    line = _judged(subject.name, usable, number)
    worst = max(usable, key=lambda entry: abs(entry[0] - entry[1]))
    verdict = f"The largest gap is at {100 * worst[0]:.0f} % promised, where {100 * worst[1]:.1f} % were held."
    chart = Lines(
        "Coverage of intervals", verdict, [line], "promised share", "share held",
        x_share=True, y_share=True, diagonal=True, limits=(0.0, 1.0),
    )  # fmt: skip
    caption = (
        f"{verdict} Each fifth of the test items was judged by intervals made from the other four fifths; the band is "
        "one standard error."
    )
    blocks: list[Block] = [Figure(chart, caption), *_widths(subject), *_few(known)]
    return blocks


def _held(errors: Sequence[Array], promise: float) -> tuple[int, int]:
    """How many values lie inside their interval, and how many could be judged."""
    inside = judged = 0
    for column in errors:
        order = np.random.default_rng(0).permutation(len(column))
        for part in range(PARTS):
            tested, others = column[order[part::PARTS]], np.delete(column[order], np.s_[part::PARTS])
            rank = math.ceil((len(others) + 1) * promise)
            if len(tested) and rank <= len(others):
                inside += int((tested <= np.sort(others)[rank - 1]).sum())
                judged += len(tested)
    return inside, judged


def _widths(subject: Subject) -> list[Block]:
    """What predict writes beside every number."""
    intervals = subject.intervals
    if intervals is None:
        return []
    rows = [
        [name, "too few test items" if half is None else f"± {half:.4g}"]
        for name, half in zip(subject.target_names, intervals.half_widths, strict=True)
    ]
    promise = f"{100 * intervals.coverage:.0f} %"
    return [Table(f"Intervals that promise to hold {promise} of new values", ["target", "interval"], rows)]
