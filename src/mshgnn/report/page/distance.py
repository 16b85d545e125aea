"""How far new data, or the test part, are from what the model was trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mshgnn.report.page.charts import Line, Lines
from mshgnn.report.page.contents import Array, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Table, Text, for_each

STEPS = 200
FURTHEST = 10


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """Shares of items within a distance, of the test part and of new data."""
    lead = (
        "Distance 1 is where 99 of 100 test items lie within. Rows beyond it are unlike the training data, and "
        "predictions for them deserve less trust."
    )
    return for_each("distance", "Distance to the training data", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    test = np.array(subject.shown.distances if subject.shown else ())
    new = np.array(subject.new_data.distances if subject.new_data else ())
    if not len(test) and not len(new):
        return "a run keeps no weights" if subject.source == "run" else "the folder holds no distances; give --data"
    top = float(max(1.2, *np.quantile(np.concatenate([test, new]), [0.999])))
    lines = [_line(f"test {subject.things}", test, top, 0, dashed=True)] if len(test) else []
    blocks: list[Block] = []
    verdict = f"Of the test part {100 * float((test > 1).mean()):.1f} % lie beyond." if len(test) else ""
    if subject.new_data is not None and len(new):
        lines.append(_line(subject.new_data.name, new, top, 1))
        beyond = int((new > 1).sum())
        verdict = f"{beyond:,} of {len(new):,} rows of {subject.new_data.name} lie beyond the training data."
    chart = Lines(
        "Share within a distance", verdict, lines, "distance to the nearest training item", "share of items",
        y_share=True, limits=(0.0, 1.0), rule=1.0,
    )  # fmt: skip
    blocks.append(Figure(chart, f"{verdict} A curve further to the right is data further away."))
    if subject.new_data is None:
        blocks.append(Text("Give new data with --data FILE to see how far they are."))
        return blocks
    order = np.argsort(-new, kind="stable")[:FURTHEST]
    rows = [
        [f"row {subject.new_data.rows[at]}", f"{new[at]:.3g}", subject.new_data.predictions[at]]
        for at in order.tolist()
    ]
    blocks.append(Table("The furthest rows, counted from 0", ["row", "distance", "prediction"], rows))
    if subject.new_data.failed:
        text = f"Rows of {subject.new_data.name} that could not be read: {subject.new_data.failed:,}."
        blocks.append(Text(text, note=True))
    return blocks


def _line(name: str, distances: Array, top: float, colour: int, *, dashed: bool = False) -> Line:
    x = np.linspace(0.0, top, STEPS)
    share = np.searchsorted(np.sort(distances), x, side="right") / len(distances)
    return Line(name, x.tolist(), share.tolist(), colour, dashed)
