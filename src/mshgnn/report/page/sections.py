"""All sections in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mshgnn.report.page import (
    attention,
    calibration,
    confusion,
    curves,
    differences,
    distance,
    embedding,
    headline,
    mistakes,
    parity,
    provenance,
    responses,
    rules,
)
from mshgnn.report.page.charts import Chart
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.section import Figure, Missing, Section

SECTIONS: dict[str, Callable[[Sequence[Subject]], Section | Missing]] = {
    "headline": headline.section,
    "differences": differences.section,
    "curves": curves.section,
    "rules": rules.section,
    "confusion": confusion.section,
    "parity": parity.section,
    "calibration": calibration.section,
    "embedding": embedding.section,
    "mistakes": mistakes.section,
    "responses": responses.section,
    "attention": attention.section,
    "distance": distance.section,
    "provenance": provenance.section,
}
FIGURES = tuple(name for name in SECTIONS if name != "provenance")
"""The sections that have figures."""


def charts_of(section: Section) -> list[Chart]:
    """All charts of a section, in order."""
    return [block.chart for part in section.parts for block in part.blocks if isinstance(block, Figure)]
