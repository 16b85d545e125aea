"""Which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mshgnn.report.page.charts import Heat
from mshgnn.report.page.contents import Items, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Table, Text, for_each

MOST_CLASSES = 20
Counts = NDArray[np.int64]


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """A matrix of truth by prediction; for labels a row for each."""
    lead = "Each row is what is true, each column what was predicted: the diagonal is right, all else is a mistake."
    return for_each("confusion", "Confusion", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    if subject.items is None:
        return "a run keeps curves, not predictions"
    if subject.objective == "multilabel":
        return _labels(subject, subject.items)
    if not subject.has_classes:
        return "the targets are numbers, see parity"
    counts = counts_of(subject.items, len(subject.class_names))
    there = counts.sum(axis=1)
    chosen = np.sort(np.argsort(-there, kind="stable")[:MOST_CLASSES])
    names = [subject.class_names[one] for one in chosen]
    kept = counts[np.ix_(chosen, chosen)]
    chart = Heat(
        "Truth by prediction",
        _worst(counts, subject),
        names,
        names,
        (kept / np.maximum(there[chosen], 1)[:, None]).tolist(),
        [[f"{count:,}" for count in row] for row in kept.tolist()],
        "true class",
        "predicted class",
    )
    blocks: list[Block] = [Figure(chart, f"{_worst(counts, subject)} Shades are shares of the row.")]
    blocks.append(_table(counts, subject))
    blocks += [Text(note, note=True) for note in _notes(counts, subject)]
    return blocks


def counts_of(items: Items, classes: int) -> Counts:
    """``[C, C]``: true classes by predicted ones; items without a truth are left out."""
    known = ~np.isnan(items.truth[:, 0])
    truth, found = items.truth[known, 0].astype(np.int64), items.values[known].argmax(axis=1)
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (truth, found), 1)
    return counts


def _worst(counts: Counts, subject: Subject) -> str:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    total = int(counts.sum())
    if not wrong.any():
        return f"All {total:,} test {subject.things} are right."
    true, found = np.unravel_index(int(wrong.argmax()), wrong.shape)
    right = int(np.trace(counts))
    return (
        f"{right:,} of {total:,} test {subject.things} are right. The most common mistake: "
        f"{subject.class_names[true]} taken for {subject.class_names[found]}, {int(wrong[true, found]):,} times."
    )


def _notes(counts: Counts, subject: Subject) -> list[str]:
    there = np.flatnonzero(counts.sum(axis=1))
    notes = []
    if len(there) == 1:
        name = subject.class_names[there[0]]
        notes.append(f"Every test item has the class {name}: how well classes are told apart cannot be seen here.")
    elif len(there) < len(counts):
        absent = [subject.class_names[one] for one in range(len(counts)) if one not in there]
        notes.append(f"No test item has the class {', '.join(absent[:5])}{' …' if len(absent) > 5 else ''}.")
    if len(counts) > MOST_CLASSES:
        notes.append(f"The {MOST_CLASSES} most common of {len(counts)} classes are drawn; the table has all.")
    return notes


def _table(counts: Counts, subject: Subject) -> Table:
    rows = []
    for one, name in enumerate(subject.class_names):
        there, named, right = int(counts[one].sum()), int(counts[:, one].sum()), int(counts[one, one])
        rows.append([name, f"{there:,}", share(right, there), share(right, named)])
    header = ["class", "test items", "found (recall)", "right when named (precision)"]
    return Table("Class by class", header, rows, folded=True)


def share(part: float, whole: float) -> str:
    """A share in percent; a dash of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _labels(subject: Subject, items: Items) -> list[Block]:
    """For labels that are 0 or 1: hits and misses of each."""
    rows: list[list[int]] = []
    for truth, value in zip(items.truth.T, items.values.T, strict=True):
        known = ~np.isnan(truth)
        one, said = truth[known] == 1, value[known] > 0.5
        pairs: list[Any] = [one & said, one & ~said, ~one & said, ~one & ~said]
        rows.append([int(pair.sum()) for pair in pairs])
    shown = rows[:MOST_CLASSES]
    names = list(subject.target_names)
    chart = Heat(
        "Hits and misses by label",
        f"{len(rows)} labels: how often 1 was found, missed, claimed wrongly, and 0 was right",
        names[:MOST_CLASSES],
        ["1, found", "1, missed", "0, called 1", "0, right"],
        [[count / max(sum(row), 1) for count in row] for row in shown],
        [[f"{count:,}" for count in row] for row in shown],
        "label",
        "outcome at probability 0.5",
    )
    table = Table(
        "Label by label",
        ["label", "known", "found (recall)", "right when named (precision)"],
        [
            [name, f"{sum(row):,}", share(row[0], row[0] + row[1]), share(row[0], row[0] + row[2])]
            for name, row in zip(names, rows, strict=True)
        ],
        folded=True,
    )
    empty = [name for name, row in zip(names, rows, strict=True) if not (row[0] + row[1]) or not (row[2] + row[3])]
    blocks: list[Block] = [
        Figure(chart, "Shades are shares of the row. A dark second column is a label often missed."),
        table,
    ]
    if empty:
        blocks.append(Text(f"Only one value occurs in the test part for {', '.join(empty[:5])}.", note=True))
    return blocks
