"""Where each contender stands in time and memory, in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mshgnn.benchmarks.contenders import OURS, PARTS
from mshgnn.files import written


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """One panel per graph: training step over peak memory (of the first run), a point per contender and run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shapes = list(runs[0]["shapes"])
    figure, panels = pyplot.subplots(1, len(shapes), figsize=(4.2 * len(shapes), 4), squeeze=False)
    for panel, name in zip(panels[0], shapes, strict=True):
        found_by_run = [run["shapes"][name]["contenders"] for run in runs]
        contenders = [{who: row for who, row in found.items() if who not in PARTS} for found in found_by_run]
        for contender in contenders[0]:
            steps = [1e3 * found[contender]["training"]["seconds"]["middle"] for found in contenders]
            peaks = [contenders[0][contender].get("peak_bytes", 0) / 2**20] * len(steps)
            style = {"color": "crimson", "zorder": 3} if contender == OURS else {"color": "steelblue"}
            panel.plot(peaks, steps, "o", **style)
            panel.annotate(contender, (peaks[-1], steps[-1]), xytext=(4, 3), textcoords="offset points", fontsize=7)
        panel.set(title=name, xlabel="peak memory of a step (MB)", yscale="log")
        if all(row.get("peak_bytes", 0) > 0 for row in contenders[0].values()):
            panel.set_xscale("log")
        panel.grid(True, which="both", alpha=0.3)
    panels[0][0].set_ylabel("training step (ms)")
    figure.tight_layout()
    with written(path) as file:
        figure.savefig(file, dpi=150)
    pyplot.close(figure)
