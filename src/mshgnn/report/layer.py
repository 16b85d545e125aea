"""The paper's figure 2: the way of a message through the layer, with the shapes that the code has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import INK

TINTS = {"node": "#DCEBF7", "edge": "#FCE5D3", "graph": "#DDF2E8"}


@dataclass(frozen=True)
class Step:
    """A tensor on the way: what it is, its formula, its shape, of what it has one row, and the step it is made of."""

    title: str
    formula: str
    shape: tuple[int, ...]
    per: str
    made_of: int | None


def draw_layer(steps: tuple[Step, ...], caption: str, path: Path) -> Path:
    """The steps in two lines, left to right."""
    figure = Figure(figsize=(11.5, 4.6))
    axes = figure.add_axes((0.01, 0.0, 0.98, 0.9))
    columns = -(-len(steps) // 2)
    axes.set(xlim=(0, columns), ylim=(-0.35, 2.0))
    axes.axis("off")
    for number, step in enumerate(steps):
        line, column = divmod(number, columns)
        _box(axes, step, column, 1.06 - 1.02 * line)
        if step.made_of is not None:
            _arrow(axes, step.made_of, number, columns)
    for place, (name, tint) in enumerate(TINTS.items()):
        axes.scatter([0.1 + 0.75 * place], [-0.22], s=120, marker="s", color=tint, edgecolor="#999999")
        axes.annotate(f"one row per {name}", (0.17 + 0.75 * place, -0.22), va="center", fontsize=9, color=INK)
    axes.annotate(caption, (columns - 0.04, -0.22), ha="right", va="center", fontsize=9, color=INK)
    figure.suptitle("The harmonic layer, with the shapes of a real call", x=0.015, ha="left", fontsize=13, color=INK)
    return save_picture(figure, path)


def _arrow(axes: Axes, source: int, number: int, columns: int) -> None:
    """Straight to the next step; else round the boxes between."""
    (line, column), (into_line, into) = divmod(source, columns), divmod(number, columns)
    bottom = 1.06 - 1.02 * line
    style = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
    if source + 1 == number and line == into_line:
        axes.annotate("", (into + 0.05, bottom + 0.42), (column + 0.95, bottom + 0.42), arrowprops=style)
        return
    turn, end = bottom - 0.09, bottom if line == into_line else bottom - 0.18
    points = [(column + 0.5, bottom), (column + 0.5, turn), (into + 0.5, turn)]
    axes.plot(*zip(*points, strict=True), color=INK, lw=1.0)
    axes.annotate("", (into + 0.5, end), (into + 0.5, turn), arrowprops=style)


def _box(axes: Axes, step: Step, x: float, y: float) -> None:
    box = FancyBboxPatch(
        (x + 0.06, y), 0.88, 0.84, boxstyle="round,pad=0,rounding_size=0.05", fc=TINTS[step.per], ec="#888888"
    )
    axes.add_patch(box)
    centre = x + 0.5
    axes.annotate(step.title, (centre, y + 0.68), ha="center", va="center", fontsize=10.5, color=INK, weight="bold")
    axes.annotate(step.formula, (centre, y + 0.42), ha="center", va="center", fontsize=10.5, color=INK)
    shape = " × ".join(f"{size:,}" for size in step.shape)
    axes.annotate(shape, (centre, y + 0.14), ha="center", va="center", fontsize=11, color=INK, family="monospace")
