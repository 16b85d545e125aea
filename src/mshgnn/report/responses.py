"""Learned frequency responses: what share of the messages' energy each band of each layer carries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from mshgnn.report.canvas import save_picture
from mshgnn.report.figures import INK, PALETTE, dress
from mshgnn.report.page.contents import Response


def draw_responses(responses: Sequence[Response], path: Path, *, title: str) -> Path:
    """A panel per layer, a bar per band: the mean over edges, with a whisker over the middle half of them."""
    widest = max(len(response.bands) for response in responses)
    width = max(2.4, 0.8 * widest) * len(responses)
    figure = Figure(figsize=(max(4.5, width + 0.8), 3.3), layout="constrained")
    panels = figure.subplots(1, len(responses), sharey=True, squeeze=False)[0]
    for number, (axes, response) in enumerate(zip(panels, responses, strict=True), start=1):
        dress(axes, f"layer {number}")
        places = range(len(response.bands))
        axes.bar(places, response.mean, width=0.62, color=PALETTE[0])
        axes.vlines(places, response.low, response.high, color=INK, lw=1.6)
        for place, mean, high in zip(places, response.mean, response.high, strict=True):
            axes.text(place, max(mean, high) + 0.02, f"{100 * mean:.0f} %", ha="center", fontsize=9, color=INK)
        axes.set_xticks(places, list(response.bands))
        axes.set_xlabel("frequency band", color=INK)
        axes.set_ylim(0, 1.08)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    panels[0].set_ylabel("share of the messages' energy", color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    return save_picture(figure, path)
