"""Which edges count, on chosen graphs."""

from __future__ import annotations

from collections.abc import Sequence

from mshgnn.report.page.charts import Card, Cards
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, for_each
from mshgnn.report.page.selection import said


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """A row of cards for each chosen graph, one card for each layer."""
    lead = "Thick, dark edges carry most. Compare right and wrong graphs: does the model look where you would?"
    return for_each("attention", "Attention", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    if subject.shown is None or subject.items is None:
        return "a run keeps no weights" if subject.source == "run" else "the folder holds no edge weights"
    if not subject.shown.weighted:
        if subject.shown.weights_are:
            return "no test graph is small enough to be drawn"
        return f"{subject.model} gives its edges no weights that could be read off"
    cards = []
    for weighted in subject.shown.weighted:
        item = subject.shown.items[weighted.item]
        truth, found = said(subject, subject.items, item)
        for layer, weights in enumerate(weighted.layers):
            title = f"row {subject.items.rows[item]}, layer {layer + 1}"
            cards.append(Card(weighted.item, title, [f"true: {truth}", f"predicted: {found}"], weights))
    summary = f"{len(subject.shown.weighted)} graphs with their edges weighed by {subject.shown.weights_are}"
    caption = (
        f"Edges are drawn by {subject.shown.weights_are}, from the smallest to the largest of each picture. The first "
        "graphs are the most wrong, the last the most right."
    )
    return [Figure(Cards("Edge weights", summary, number, cards), caption, wide=True)]
