"""``report.html``: the table and the curves of a training on one page that needs nothing else."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mshgnn.predictor.config import TrainConfig
from mshgnn.predictor.fold import FoldReport

if TYPE_CHECKING:
    from mshgnn.predictor.summary import Summary

WIDTH, HEIGHT, MARGIN = 420, 220, 44
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.25rem 1rem .25rem 0;text-align:left;border-bottom:1px solid #ddd}"
    "pre{background:#f6f6f6;padding:1rem;overflow:auto}svg{margin-right:1rem}"
)


def page(config: TrainConfig, summary: Summary, reports: Sequence[FoldReport]) -> str:
    """The whole page; every text of the user is escaped."""
    rows = "".join(
        f"<tr><td>{html.escape(line.name)}</td><td>{line.text(summary.metric)}</td></tr>" for line in summary.lines
    )
    title = html.escape(f"{config.model['name']} on {config.data.rpartition('/')[2]}")
    warning = "<p>Training was interrupted: these are the best weights so far.</p>" if summary.interrupted else ""
    metric = html.escape(f"validation {summary.metric}")
    curves = _chart("training loss", [report.train_loss for report in reports], reports)
    curves += _chart(metric, [report.validation_metric for report in reports], reports)
    spread = f"mean ± standard deviation over {summary.folds} folds" if summary.folds > 1 else "one fold"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
        f"<h1>{title}</h1>{warning}<table><tr><th></th><th>test {html.escape(summary.metric)} ({spread})</th></tr>"
        f"{rows}</table><p>The epoch is the one that is best on validation; test parts chose nothing. "
        f"Trained in {summary.seconds:.0f} s, {reports[0].num_parameters:,} parameters.</p>"
        f"<h2>Curves</h2>{curves}<h2>Configuration</h2><pre>{html.escape(config.to_yaml())}</pre></html>\n"
    )


def _chart(title: str, curves: Sequence[Sequence[float]], reports: Sequence[FoldReport]) -> str:
    """Lines by epoch, one colour a fold, a dot at the chosen epoch."""
    finite = [value for curve in curves for value in curve if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    span, longest = (high - low) or 1.0, max(max(map(len, curves)) - 1, 1)

    def place(epoch: int, value: float) -> tuple[float, float]:
        x = MARGIN + epoch / longest * (WIDTH - MARGIN - 8)
        return x, HEIGHT - MARGIN - (value - low) / span * (HEIGHT - MARGIN - 24)

    parts = []
    for fold, (curve, report) in enumerate(zip(curves, reports, strict=True)):
        colour = COLOURS[fold % len(COLOURS)]
        points = [place(epoch, value) for epoch, value in enumerate(curve) if math.isfinite(value)]
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{listed}"/>')
        if math.isfinite(curve[report.chosen_epoch - 1]):
            x, y = place(report.chosen_epoch - 1, curve[report.chosen_epoch - 1])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
    bottom = HEIGHT - MARGIN
    parts += [
        f'<path d="M{MARGIN} 20V{bottom}H{WIDTH - 8}" fill="none" stroke="#999"/>',
        f'<text x="{MARGIN}" y="14">{title}</text><text x="0" y="30">{high:.3g}</text>',
        f'<text x="0" y="{bottom}">{low:.3g}</text><text x="{WIDTH - 70}" y="{bottom + 18}">epoch {longest + 1}</text>',
    ]
    return f'<svg width="{WIDTH}" height="{HEIGHT}" font-size="12">{"".join(parts)}</svg>'
