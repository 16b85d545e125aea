"""A section of the page: a title, one sentence that says what it means, and figures, tables and remarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mshgnn.report.page.charts import Chart
from mshgnn.report.page.contents import Subject


@dataclass(frozen=True)
class Figure:
    """A chart with a caption that first says what it means; ``wide`` takes the whole width."""

    chart: Chart
    caption: str
    wide: bool = False
    kind: str = "figure"


@dataclass(frozen=True)
class Table:
    """Rows of text; the first column names them. ``folded`` waits behind a line to click on."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True)
class Text:
    """A paragraph; a ``note`` is set off, ``code`` keeps its lines."""

    text: str
    note: bool = False
    code: bool = False
    kind: str = "text"


@dataclass(frozen=True)
class Hero:
    """One number, large."""

    name: str
    value: str
    spread: str
    label: str
    kind: str = "hero"


Block = Figure | Table | Text | Hero


@dataclass(frozen=True)
class Part:
    """The blocks of one subject, or of all of them where ``title`` is empty."""

    blocks: Sequence[Block]
    title: str = ""


@dataclass(frozen=True)
class Section:
    """What a page shows under one heading."""

    key: str
    title: str
    lead: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Missing:
    """Why a section is not there."""

    title: str
    why: str


def for_each(
    key: str,
    title: str,
    lead: str,
    subjects: Sequence[Subject],
    blocks: Callable[[int, Subject], list[Block] | str],
) -> Section | Missing:
    """A section with a part for each subject; ``blocks`` gives a subject's blocks, or says why there are none."""
    parts: list[Part] = []
    reasons: dict[str, list[str]] = {}
    for number, subject in enumerate(subjects):
        made = blocks(number, subject)
        if isinstance(made, str):
            reasons.setdefault(made, []).append(subject.name)
        else:
            parts.append(Part(made, subject.name if len(subjects) > 1 else ""))
    if not parts:
        return Missing(title, "; ".join(reasons))
    if reasons:
        left_out = [Text(f"Not shown for {', '.join(names)}: {why}.") for why, names in reasons.items()]
        parts.append(Part(left_out))
    return Section(key, title, lead, parts)
