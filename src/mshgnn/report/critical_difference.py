"""The critical-difference picture: models on one line by average rank, joined where chance could have ordered them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mshgnn.evaluation.ranks import Ranking, level_groups
from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import INK, PALETTE

ROW = 0.45
"""The height of a model's row, in units of the line of ranks."""


def draw_critical_difference(ranking: Ranking, names: Mapping[str, bool], title: str, path: Path) -> Path:
    """``names`` are in the order of ``ranking.ranks``; true marks the model that the picture is about."""
    ordered = sorted(zip(ranking.ranks, names.items(), strict=True))
    groups = level_groups(ranking.ranks, ranking.distance)
    rows = (len(ordered) + 1) // 2
    below = 0.25 * len(groups) + ROW * rows + 0.3
    figure = Figure(figsize=(9.0, 1.7 + 0.8 * below), layout="constrained")
    axes = figure.subplots()
    best, worst = 1, len(ordered)
    axes.plot([best, worst], [0, 0], color=INK, lw=1.4)
    for tick in range(best, worst + 1):
        axes.plot([tick] * 2, [0, 0.12], color=INK, lw=1.2)
        axes.annotate(str(tick), (tick, 0.2), ha="center", va="bottom", fontsize=10, color=INK)
    _draw_distance(axes, ranking.distance)
    for place, (first, last) in enumerate(groups):
        axes.plot([first - 0.03, last + 0.03], [-0.22 - 0.25 * place] * 2, color=INK, lw=4.5, solid_capstyle="round")
    for place, (rank, (name, ours)) in enumerate(ordered):
        left = place < rows
        row = place if left else len(ordered) - 1 - place
        height = -0.25 * len(groups) - ROW * (row + 0.8)
        side = best - 0.15 if left else worst + 0.15
        colour = PALETTE[0] if ours else INK
        axes.plot([rank, rank, side], [0, height, height], color=colour, lw=1.8 if ours else 1.0, zorder=1)
        axes.annotate(
            f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}",
            (side - 0.05 if left else side + 0.05, height),
            ha="right" if left else "left",
            va="center",
            fontsize=10.5,
            color=colour,
            weight="bold" if ours else "normal",
        )
    margin = 0.46 * (worst - best)
    axes.set(xlim=(best - margin, worst + margin), ylim=(-below, 1.15))
    axes.axis("off")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    return save_picture(figure, path)


def _draw_distance(axes: Axes, distance: float) -> None:
    """The critical distance as a bar above the line."""
    height = 0.75
    axes.plot([1, 1 + distance], [height] * 2, color=INK, lw=1.4)
    for end in (1, 1 + distance):
        axes.plot([end] * 2, [height - 0.07, height + 0.07], color=INK, lw=1.4)
    axes.annotate(
        f"critical distance {distance:.2f}",
        (1 + distance / 2, height + 0.1),
        ha="center",
        va="bottom",
        fontsize=9.5,
        color=INK,
    )
