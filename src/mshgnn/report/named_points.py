"""A named point per model on two logarithmic axes where less is better, one panel per task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from matplotlib.transforms import Bbox

from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import FAINT, INK, PALETTE

Panel = Mapping[str, tuple[float, float]]
"""The place of each model."""

SIDES: tuple[dict[str, Any], ...] = (
    {"xytext": (7, 0), "ha": "left", "va": "center"},
    {"xytext": (-7, 0), "ha": "right", "va": "center"},
    {"xytext": (0, 7), "ha": "center", "va": "bottom"},
    {"xytext": (0, -7), "ha": "center", "va": "top"},
)
"""Where the name of a point may stand, best first."""


def draw_named_points(panels: Mapping[str, Panel], path: Path, *, title: str, x: str, y: str, ours: str) -> Path:
    """The lower left corner is best; ``ours`` is the model in another colour."""
    figure = Figure(figsize=(0.8 + 4.4 * len(panels), 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    drawn = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (name, panel) in zip(drawn, panels.items(), strict=True):
        axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
        axes.set_title(name, fontsize=10.5, loc="left", color=INK)
        for model, point in panel.items():
            axes.scatter(*point, s=60 if model == ours else 34, color=_colour(model, ours), lw=0, zorder=3)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.margins(x=0.25, y=0.12)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=FAINT)
        axes.set_axisbelow(True)
    figure.draw_without_rendering()  # names are placed where the points have come to lie
    for axes, panel in zip(drawn, panels.values(), strict=True):
        _name_points(axes, panel, ours)
    return save_picture(figure, path)


def _colour(model: str, ours: str) -> str:
    return PALETTE[0] if model == ours else INK


def _name_points(axes: Axes, panel: Panel, ours: str) -> None:
    """Each name on the first side where it covers no point and no other name; ours first, it has the most room."""
    taken = [Bbox.from_extents(x - 5, y - 5, x + 5, y + 5) for x, y in axes.transData.transform([*panel.values()])]
    for model in sorted(panel, key=lambda model: model != ours):
        for side in SIDES:
            text = axes.annotate(
                model,
                panel[model],
                textcoords="offset points",
                fontsize=9.5,
                color=_colour(model, ours),
                weight="bold" if model == ours else "normal",
                **side,
            )
            box = text.get_window_extent()
            if _is_free(box, taken) and axes.bbox.xmin < box.xmin and box.xmax < axes.bbox.xmax:
                break
            if side is not SIDES[-1]:
                text.remove()
        taken.append(box)


def _is_free(box: Bbox, taken: Iterable[Bbox]) -> bool:
    return not any(box.overlaps(other) for other in taken)
