"""What the bands of the harmonic layers carry."""

from __future__ import annotations

from collections.abc import Sequence

from mshgnn.report.page.charts import Heat
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, for_each


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """A row for each layer, a column for each band."""
    lead = (
        "Low bands carry slow changes of the phase, high bands fine differences between neighbours. A layer that uses "
        "one band alone has no need for the others."
    )
    return for_each("responses", "Frequency response", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    if subject.shown is None:
        return "a run keeps no weights" if subject.source == "run" else "the folder holds no frequency responses"
    responses = subject.shown.responses
    if not responses:
        return f"{subject.model} has no harmonic layers"
    bands = max((response.bands for response in responses), key=len)
    texts, shades = [], []
    for response in responses:
        quartiles = zip(response.mean, response.low, response.high, strict=True)
        texts.append([f"{100 * m:.0f} % ({100 * low:.0f}–{100 * high:.0f})" for m, low, high in quartiles])
        shades.append(list(response.mean))
    top = max(range(len(bands)), key=lambda band: sum(row[band] for row in shades if band < len(row)))
    verdict = f"Most of the energy lies in the band {bands[top]}."
    layers = [f"layer {layer + 1}" for layer in range(len(responses))]
    chart = Heat("Share of the messages' energy", verdict, layers, bands, shades, texts, "", "frequency band")
    caption = (
        f"{verdict} The share of every edge message that each band carries: the mean over edges of test "
        f"{subject.things}, and the middle half in brackets, for the model of the first fold."
    )
    return [Figure(chart, caption)]
