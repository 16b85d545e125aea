"""``mshgnn demo``: the joint structure-frequency task, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CELLS = [f"structure-frequency-fixed/{model}" for model in ("joint-gcn", "joint-gat", "gcn", "msh-stable")]
EPOCHS = 60  # fewer than the experiments themselves: a demo should not take long


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and costs.")] = Path("demo"),
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value: training.epochs=10.")
    ] = None,
) -> None:
    """Train GCN, GAT and MSH-GNN on the joint structure-frequency task; print the paper's table, draw pictures.

    GCN and GAT are the paper's (joint-gcn, joint-gat); gcn is its message in the shell that MSH-GNN has.

    Example: mshgnn demo --out demo
    """
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.setup import load_data
    from mshgnn.lab.suite import load_experiments
    from mshgnn.reproduction.demo import demo_table, draw_demo, run_demo, save_costs

    changes = [f"training.epochs={EPOCHS}", *(set_ or ())]
    checked = [experiment for cell in CELLS for experiment in load_experiments(Path("joint"), changes, [cell])]
    console = Console()
    try:
        rows = run_demo(checked, make_display(console))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    console.print(demo_table(rows))
    data = load_data(checked[0])
    labels = data.dataset.labels()[data.splits.folds[0].test]
    for path in (save_costs(rows, out), *draw_demo(rows, labels, out)):
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
