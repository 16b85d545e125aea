"""The charts of the report page as pictures for papers and slides: PNG, SVG or PDF by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mshgnn.errors import UserError
from mshgnn.report.figures import DOTS_PER_INCH, FAINT, INK, PALETTE, dress
from mshgnn.report.page.charts import Card, Cards, Chart, Heat, Lines, Ranges, Scatter, View
from mshgnn.report.page.contents import Subject
from mshgnn.report.page.drawing import unpack
from mshgnn.report.page.embedding import SEQUENTIAL
from mshgnn.report.page.selection import shown_of

FORMATS = (".png", ".svg", ".pdf")
MOST_PANELS = 24
ACROSS = 4
SHADES = tuple(to_hex(shade) for shade in colormaps["Blues"](np.linspace(0.35, 1.0, 5)))


def draw(charts: Sequence[Chart], subjects: Sequence[Subject], suffix: str) -> bytes:
    """All charts of a section in one picture of the format ``suffix``; those with several views show each view."""
    panels = [panel for chart in charts for panel in _panels(chart)]
    if not panels:
        raise UserError("there is nothing to draw")
    if len(panels) > MOST_PANELS:
        panels = panels[:MOST_PANELS]
    small = isinstance(panels[0][0], Cards)
    across = min(ACROSS if small else 2, len(panels))
    down = -(-len(panels) // across)
    width = 2.2 * across if small else 9.0 if across > 1 else 6.4
    tall = 2.5 if small else max(_height(chart) for chart, _ in panels)
    figure = Figure(figsize=(width, tall * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flat
    for axis in axes:
        axis.set_axis_off()
    for axis, (chart, part) in zip(figure.axes, panels, strict=False):
        axis.set_axis_on()
        _draw(axis, chart, part, subjects)
    FigureCanvasAgg(figure)
    content = io.BytesIO()
    figure.savefig(content, dpi=DOTS_PER_INCH, format=suffix[1:], facecolor="white", metadata=_undated(suffix))
    return content.getvalue()


def _undated(suffix: str) -> dict[str, None]:
    """The same figure gives the same file: no date in it."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})


def _panels(chart: Chart) -> list[tuple[Chart, View | Card | None]]:
    if isinstance(chart, Scatter):
        return [(chart, view) for view in chart.views]
    if isinstance(chart, Cards):
        return [(chart, card) for card in chart.cards]
    return [(chart, None)]


def _height(chart: Chart) -> float:
    if isinstance(chart, Ranges):
        return 1.3 + 0.32 * len(chart.rows)
    return max(3.4, 1.2 + 0.35 * len(chart.rows)) if isinstance(chart, Heat) else 3.6


def _draw(axis: Axes, chart: Chart, part: View | Card | None, subjects: Sequence[Subject]) -> None:
    if isinstance(chart, Lines):
        _lines(axis, chart)
    elif isinstance(chart, Ranges):
        _ranges(axis, chart)
    elif isinstance(chart, Heat):
        _heat(axis, chart)
    elif isinstance(chart, Scatter) and isinstance(part, View):
        _scatter(axis, chart, part)
    elif isinstance(chart, Cards) and isinstance(part, Card):
        _card(axis, part, subjects[chart.subject])


def _lines(axis: Axes, chart: Lines) -> None:
    dress(axis, chart.title)
    for line in chart.lines:
        colour = PALETTE[line.colour % len(PALETTE)]
        style = (0, (4, 2)) if line.dashed else "-"
        axis.plot(line.x, line.y, color=colour, lw=1.2 if line.dashed else 1.8, ls=style, label=line.name)
        if len(line.low):
            axis.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, lw=0)
        if len(line.marks):
            axis.plot(*zip(*line.marks, strict=True), "o", color=colour, ms=4)
    if chart.diagonal:
        axis.plot([0, 1], [0, 1], color="#999999", lw=0.8, ls=":")
    if chart.rule is not None:
        axis.axvline(chart.rule, color="#999999", lw=0.8, ls=":")
    if chart.limits is not None:
        axis.set_ylim(*chart.limits)
    axis.set_xlabel(chart.x_label, color=INK)
    axis.set_ylabel(chart.y_label, color=INK)
    if chart.x_label == "epoch":
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    _shares(axis, x=chart.x_share, y=chart.y_share)
    axis.legend(frameon=False, fontsize=8, labelcolor=INK)


def _ranges(axis: Axes, chart: Ranges) -> None:
    dress(axis, chart.title)
    axis.grid(False)
    axis.grid(axis="x", color=FAINT, lw=0.8)
    for place, row in enumerate(chart.rows):
        colour = PALETTE[row.colour % len(PALETTE)]
        if row.low is not None and row.high is not None:
            axis.plot([row.low, row.high], [place, place], color=colour, lw=3, alpha=0.4, solid_capstyle="round")
        if len(row.dots) > 1:
            axis.plot(row.dots, [place + 0.2] * len(row.dots), ".", color=colour, ms=3, alpha=0.7)
        axis.plot(row.value, place, "o", ms=7, mec=colour, mfc="white" if row.hollow else colour)
    axis.set_yticks(range(len(chart.rows)), [f"{row.label}\n{row.text}" for row in chart.rows], fontsize=8)
    axis.set_ylim(len(chart.rows) - 0.4, -0.6)
    if chart.zero is not None:
        axis.axvline(chart.zero, color="#999999", lw=0.8, ls=":")
    axis.set_xlabel(chart.x_label, color=INK)
    _shares(axis, x=chart.x_share)


def _heat(axis: Axes, chart: Heat) -> None:
    shades = np.array(chart.shades, dtype=np.float64)
    axis.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, texts in enumerate(chart.texts):
        for column, text in enumerate(texts):
            colour = "white" if shades[row, column] > 0.6 else INK
            axis.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    axis.set_xticks(range(len(chart.columns)), chart.columns, fontsize=8, rotation=45 if len(chart.columns) > 6 else 0)
    axis.set_yticks(range(len(chart.rows)), chart.rows, fontsize=8)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0, colors=INK)
    axis.set_xlabel(chart.column_title, color=INK)
    axis.set_ylabel(chart.row_title, color=INK)
    axis.set_title(chart.title, loc="left", fontsize=10, color=INK)


def _scatter(axis: Axes, chart: Scatter, view: View) -> None:
    groups = {one.group for one in chart.views}
    dress(axis, f"{view.group}: {view.name}" if len(groups) > 1 else view.name)
    colours = [_colour(chart.colours[item]) for item in view.points]
    axis.scatter(view.x, view.y, c=colours, s=9, alpha=0.75, linewidths=0)
    axis.set_xlabel(view.x_label, color=INK)
    axis.set_ylabel(view.y_label, color=INK)
    if view.diagonal:
        axis.axline((view.x[0], view.x[0]) if len(view.x) else (0, 0), slope=1, color="#999999", lw=0.8, ls=":")
    if view.level:
        axis.axhline(0, color="#999999", lw=0.8, ls=":")
    if not chart.axes:
        axis.set(xticks=[], yticks=[])
        first = SEQUENTIAL if any(one >= SEQUENTIAL for one in chart.colours) else 0
        for number, name in enumerate(chart.legend):
            axis.plot([], [], "o", ms=5, color=_colour(first + number), label=name)
        axis.legend(frameon=False, fontsize=8, labelcolor=INK)


def _colour(number: int) -> str:
    if number >= SEQUENTIAL:
        return SHADES[(number - SEQUENTIAL) % len(SHADES)]
    return "#999999" if number < 0 else PALETTE[number % len(PALETTE)]


def _card(axis: Axes, card: Card, subject: Subject) -> None:
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.set_title("\n".join([card.title, *card.lines]), fontsize=7, color=INK)
    shown = shown_of(subject)
    text = shown.drawings[card.item]
    if text is None:
        axis.text(0.5, 0.5, "too large to be drawn small", ha="center", fontsize=7, transform=axis.transAxes)
        return
    drawing = unpack(text)
    axis.set(xlim=(-4, 103), ylim=(-103, 4))
    places = drawing.places * (1, -1)
    for number, (first, last) in enumerate(drawing.edges):
        weight = card.weights[number] if len(card.weights) else None
        style = {"color": "0.6", "lw": 0.9}
        if weight is not None:
            style = {"color": colormaps["Oranges"](0.2 + 0.7 * weight), "lw": 0.8 + 2.6 * weight}
        axis.plot(*places[[first, last]].T, zorder=1, **style)  # type: ignore[arg-type]
    for number, (x, y) in enumerate(places):
        label = drawing.labels[number] if len(drawing.labels) else 0
        word = shown.vocabulary[label] if label < len(shown.vocabulary) else ""
        colour = "#666666" if label == 0 else PALETTE[(label - 1) % len(PALETTE)]
        if label and len(word) <= 2:
            axis.text(x, y, word, ha="center", va="center", fontsize=6, color=colour,
                      bbox={"boxstyle": "circle,pad=0.1", "fc": "white", "ec": "none"})  # fmt: skip
        else:
            axis.plot(x, y, "o", ms=3, color=colour, zorder=2)


def _shares(axis: Axes, *, x: bool = False, y: bool = False) -> None:
    percent = FuncFormatter(lambda value, _: f"{100 * value:g} %")
    if x:
        axis.xaxis.set_major_formatter(percent)
    if y:
        axis.yaxis.set_major_formatter(percent)
