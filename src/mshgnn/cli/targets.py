"""Several targets, one by one, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mshgnn.report.page.contents import Measured
    from mshgnn.training.metrics import Metric


def show_targets(columns: Sequence[tuple[Measured, Metric]], most: int | None = None, where: str = "") -> None:
    """A row for each target; beyond ``most`` they are counted, and ``where`` has them all."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from mshgnn.report.page.targets import target_table

    header, rows = target_table(columns)
    if not rows:
        return
    table = Table(header[0])
    for title in header[1:]:
        table.add_column(escape(title), justify="right")
    for row in rows[:most]:
        table.add_row(*map(escape, row))
    console = Console(width=None if Console().is_terminal else 100)
    console.print(table)
    if most is not None and len(rows) > most:
        console.print(f"and {len(rows) - most:,} more in {where}", highlight=False, markup=False, soft_wrap=True)
