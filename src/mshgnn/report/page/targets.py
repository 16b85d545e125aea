"""Several targets, one by one, as the page and the terminal show them."""

from __future__ import annotations

from collections.abc import Sequence

from mshgnn.report.page.contents import Measured
from mshgnn.training.metrics import Metric


def target_table(columns: Sequence[tuple[Measured, Metric]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: each target, its known test values, and what each column says of it. One target has no rows."""
    told = [(measured, metric) for measured, metric in columns if measured.targets]
    header = ["target", "known", *(measured.name for measured, _ in told)]
    each = zip(*(measured.targets for measured, _ in told), strict=True)
    metrics = [metric for _, metric in told]
    rows = [
        [
            ones[0].name,
            f"{sum(ones[0].known):,}",
            *(one.text(metric) for one, metric in zip(ones, metrics, strict=True)),
        ]
        for ones in each
    ]
    return header, rows
