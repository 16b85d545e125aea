"""The kinds of chart that sections are made of: what is drawn, not how.

The page draws them by ``templates/*.js``, :mod:`mshgnn.report.plots` by matplotlib. Colours are numbers of one palette.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar


@dataclass(frozen=True)
class Line:
    """One line, with a band from ``low`` to ``high`` and dots ``marks`` (pairs of x and y) where they are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    dashed: bool = False
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marks: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Chart:
    """What all charts have: a title and an alternative text that says what is to be seen."""

    kind: ClassVar[str]
    title: str
    summary: str

    def to_json(self) -> dict[str, Any]:
        """Plain values, numbers cut to five digits; what is not finite becomes null."""
        return {"kind": self.kind, **{entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}}


@dataclass(frozen=True)
class Lines(Chart):
    """Lines over a number; ``x_share`` and ``y_share`` are written in percent."""

    kind = "lines"
    lines: Sequence[Line]
    x_label: str
    y_label: str = ""
    x_share: bool = False
    y_share: bool = False
    diagonal: bool = False
    """Also draw where x equals y."""
    limits: tuple[float, float] | None = None
    """Of y; those of the lines by default."""
    rule: float | None = None
    """A vertical line that says where something begins."""


@dataclass(frozen=True)
class Row:
    """A value with its range and its single values, and how it is written."""

    label: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    dots: Sequence[float] = ()
    colour: int = 0
    hollow: bool = False


@dataclass(frozen=True)
class Ranges(Chart):
    """Values one below another on a common axis; ``zero`` is drawn where it is given."""

    kind = "ranges"
    rows: Sequence[Row]
    x_label: str
    x_share: bool = False
    zero: float | None = None


@dataclass(frozen=True)
class Heat(Chart):
    """A matrix in shades: ``shades`` from 0 to 1, ``texts`` are written into the cells."""

    kind = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    shades: Sequence[Sequence[float]]
    texts: Sequence[Sequence[str]]
    row_title: str = ""
    column_title: str = ""


@dataclass(frozen=True)
class View:
    """One way to lay out the points of a scatter."""

    group: str
    """Which points: a fold, or a target; a page lets the reader choose where there are several."""
    name: str
    """How they are laid out, such as PCA; also to be chosen."""
    points: Sequence[int]
    """Numbers of shown items."""
    x: Sequence[float]
    y: Sequence[float]
    diagonal: bool = False
    level: bool = False
    """Also draw where y is 0."""
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True)
class Scatter(Chart):
    """Points that stand for test items of the subject ``subject``; each shows its graph when it is pointed at."""

    kind = "scatter"
    subject: int
    views: Sequence[View]
    colours: Sequence[int]
    """Of each shown item."""
    legend: Sequence[str] = ()
    axes: bool = True


@dataclass(frozen=True)
class Card:
    """A shown item drawn small, with lines of text, and weights of its edges from 0 to 1 where they are given."""

    item: int
    title: str
    lines: Sequence[str] = ()
    weights: Sequence[float] = ()


@dataclass(frozen=True)
class Cards(Chart):
    """Graphs drawn small, side by side."""

    kind = "cards"
    subject: int
    cards: Sequence[Card] = field(default_factory=tuple)


def plain(value: Any) -> Any:
    """Values as JSON takes them."""
    if isinstance(value, bool) or value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, Sequence):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
