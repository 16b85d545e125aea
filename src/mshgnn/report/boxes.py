"""Box plots of variants, one panel per data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import FAINT, INK, PALETTE

Panel = Mapping[str, Sequence[float]]
"""Values by variant."""


def draw_boxes(panels: Mapping[str, Panel], path: Path, *, title: str, label: str, ours: str) -> Path:
    """A box spans the middle half of a variant's values, its line is the median, every value is a dot.

    Whiskers reach the furthest value within one and a half boxes. ``ours`` is the variant in another colour.
    """
    widest = max(len(panel) for panel in panels.values())
    figure = Figure(figsize=(1.2 + len(panels) * (0.9 + 0.42 * widest), 4.2), layout="constrained")
    for axes, (name, panel) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        colours = [PALETTE[0] if variant == ours else "#8A8A8A" for variant in panel]
        drawn = axes.boxplot(
            list(panel.values()), widths=0.6, showfliers=False, patch_artist=True, medianprops={"color": INK, "lw": 1.8}
        )
        for place, (box, colour, values) in enumerate(zip(drawn["boxes"], colours, panel.values(), strict=True), 1):
            box.set(facecolor=colour, alpha=0.35, edgecolor=colour)
            axes.scatter([place] * len(values), values, s=9, color=colour, alpha=0.7, lw=0, zorder=3)
        axes.set_xticks(range(1, len(panel) + 1), list(panel), rotation=40, ha="right", fontsize=9, color=INK)
        axes.set_title(name, fontsize=10.5, loc="left", color=INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=FAINT)
        axes.set_axisbelow(True)
    figure.supylabel(label, fontsize=10, color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    return save_picture(figure, path)
