"""The paper's figure 1: two stars with the same mean of neighbours, and who tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import FAINT, INK, PALETTE

Point = tuple[float, float]


@dataclass(frozen=True)
class Reader:
    """A message, and how far apart it puts the two centres for each draw of its weights.

    A difference is relative: ``|a - b|`` over the mean of ``|a|`` and ``|b|``.
    """

    name: str
    differences: tuple[float, ...]


@dataclass(frozen=True)
class Stars:
    """The neighbours of two centres at the origin, and what messages make of them."""

    first: tuple[Point, ...]
    second: tuple[Point, ...]
    readers: tuple[Reader, ...]


def draw_stars(stars: Stars, path: Path) -> Path:
    """Both stars, their neighbours in feature space, and the differences of every reader."""
    figure = Figure(figsize=(11.0, 4.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.5))
    for axes, name, points in ((left, "$G_1$", stars.first), (middle, "$G_2$", stars.second)):
        _draw_star(axes, name, points)
    _draw_readers(right, stars.readers)
    figure.suptitle("Two stars with the same mean of neighbours", x=0.01, ha="left", fontsize=13, color=INK)
    return save_picture(figure, path)


def _draw_star(axes: Axes, name: str, points: Sequence[Point]) -> None:
    """Neighbours around the centre, each with its features; the mean below."""
    for number, point in enumerate(points):
        angle = np.pi / 2 + 2 * np.pi * number / len(points)
        x, y = 1.15 * np.cos(angle), 1.15 * np.sin(angle)
        axes.plot([0, x], [0, y], color="#999999", lw=1.6, zorder=1)
        axes.scatter([x], [y], s=1500, color=PALETTE[5], edgecolor=INK, lw=0.8, zorder=2)
        axes.annotate(_vector(point), (x, y), ha="center", va="center", fontsize=10, color=INK, zorder=3)
    axes.scatter([0], [0], s=1500, color="white", edgecolor=INK, lw=2.0, zorder=2)
    axes.annotate("v\n" + _vector((0, 0)), (0, 0), ha="center", va="center", fontsize=9, color=INK, zorder=3)
    mean = np.mean(points, axis=0)
    axes.set_title(f"{name}, mean [{mean[0]:.2f}, {mean[1]:.2f}]", fontsize=11, color=INK)
    axes.set(xlim=(-1.7, 1.7), ylim=(-1.2, 1.7), aspect="equal")
    axes.axis("off")


def _vector(point: Point) -> str:
    return f"[{point[0]:g}, {point[1]:g}]"


def _draw_readers(axes: Axes, readers: Sequence[Reader]) -> None:
    for place, reader in enumerate(readers):
        values = np.asarray(reader.differences)
        colour = PALETTE[place % len(PALETTE)]
        spread = np.random.default_rng(0).uniform(-0.2, 0.2, len(values))
        axes.scatter(values, place + spread, s=10, color=colour, alpha=0.45, lw=0)
        median = float(np.median(values))
        axes.plot([median] * 2, [place - 0.3, place + 0.3], color=INK, lw=2)
        said = "0 always" if values.max() < 1e-6 else f"median {median:.2f}, from {values.min():.2f}"
        axes.annotate(said, (max(median, 0.0), place - 0.34), fontsize=9, color=INK, va="bottom", ha="left")
    axes.set_yticks(range(len(readers)), [reader.name for reader in readers], fontsize=9.5, color=INK)
    axes.invert_yaxis()
    axes.set_ylim(len(readers) - 0.5, -0.6)
    axes.set_xlim(left=-0.05)
    axes.set_xlabel("relative difference of the two centres", color=INK)
    axes.set_title(f"told apart, {len(readers[0].differences)} draws of weights", loc="left", fontsize=10.5, color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT)
    axes.set_axisbelow(True)
