"""The test items that were got most wrong, drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mshgnn.report.page.charts import Card, Cards
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Text, for_each
from mshgnn.report.page.selection import is_wrong, said, shown_of, wrongness

MOST_CARDS = 12


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """Cards, the worst first."""
    lead = (
        "Large errors have causes: a wrong label, a kind of graph that training did not have, or a limit of the model."
    )
    return for_each("mistakes", "Most wrong", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    items = subject.items
    if items is None:
        return "a run keeps curves, not predictions"
    shown = shown_of(subject)
    worst = worst_of(subject)
    if not worst:
        return f"no test {subject.task} is wrong"
    cards = []
    for position in worst:
        item = shown.items[position]
        truth, found = said(subject, items, item)
        cards.append(Card(position, f"row {items.rows[item]}", [f"true: {truth}", f"predicted: {found}"]))
    unit = "by the probability given to the truth" if subject.objective != "regress" else "in units of the spread"
    summary = "; ".join(f"{card.title}, {', '.join(card.lines)}" for card in cards[:4])
    chart = Cards("Most wrong", summary, number, cards)
    blocks: list[Block] = [
        Figure(chart, f"The worst first, {unit}. Rows are counted from 0, without the header.", wide=True)
    ]
    if subject.shown is None:
        blocks.append(Text("The folder holds no drawings; train again to have them kept.", note=True))
    return blocks


def worst_of(subject: Subject) -> list[int]:
    """Positions among the shown items, the worst first."""
    assert subject.items is not None
    chosen = np.array(shown_of(subject).items, dtype=np.int64)
    score = wrongness(subject, subject.items)[chosen]
    wrong = np.flatnonzero(is_wrong(subject, subject.items)[chosen] & np.isfinite(score))
    order = wrong[np.argsort(-score[wrong], kind="stable")]
    return [int(position) for position in order[:MOST_CARDS]]
