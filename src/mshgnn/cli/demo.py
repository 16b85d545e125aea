"""``mshgnn demo``: the tool on a made-up set, as its user would type it, then the joint structure-frequency task."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

EPOCHS = 60  # fewer than the experiments themselves: a demo should not take long
TOOL_EPOCHS = 30


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything that is written.")] = Path("demo"),
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value: training.epochs=10.")
    ] = None,
) -> None:
    """Show the tool on made-up molecules (train, predict, explain, report), then four models on the paper's joint task.

    The second part prints the paper's table: its GCN and GAT (joint-gcn, joint-gat), and gcn, whose message is GCN's in
    the shell that MSH-GNN has.

    Example: mshgnn demo --out demo
    """
    changes = set_ or []
    typer.echo("1. Your own data: from a file to predictions\n")
    for command in (*own_data(out, changes), *look(out)):
        type_in(command)
    typer.echo(f"\nLook at {out / 'report.html'} and {out / 'explained.html'}\n")
    typer.echo("2. The paper's joint structure-frequency task: thirty classes, four models\n")
    joint_task(out, [f"training.epochs={EPOCHS}", *changes])


def own_data(out: Path, changes: list[str]) -> list[list[str]]:
    """The commands from a file to predictions: make up molecules, train, predict new ones, measure."""
    data, new, model = str(out / "molecules.csv"), str(out / "new.csv"), str(out / "model")
    training = [change for change in changes if change.startswith("training.")]
    settings = [word for change in (f"training.epochs={TOOL_EPOCHS}", *training) for word in ("--set", change)]
    return [
        ["data", "example", "molecules", "--out", data],
        ["train", data, "--target", "solubility", "--out", model, *settings],
        ["data", "example", "molecules", "--rows", "20", "--seed", "1", "--out", new],
        ["predict", model, new, "--out", str(out / "predicted.csv")],
        ["evaluate", model, new],
    ]


def look(out: Path) -> list[list[str]]:
    """The commands that show what was learnt: explain one new molecule, write the report page."""
    model, new = str(out / "model"), str(out / "new.csv")
    return [
        ["explain", model, new, "--row", "3", "--out", str(out / "explained.html")],
        ["report", model, "--data", new, "--out", str(out / "report.html")],
    ]


def type_in(command: list[str]) -> None:
    """Show a command as a user types it, and run it."""
    from mshgnn.cli import app

    typer.secho(f"$ mshgnn {shlex.join(command)}", bold=True)
    if code := app(command, standalone_mode=False):
        raise typer.Exit(code)


def joint_task(out: Path, changes: list[str]) -> None:
    """Train GCN, GAT and MSH-GNN on the joint structure-frequency task; print the paper's table, draw pictures."""
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.setup import load_data
    from mshgnn.lab.suite import load_experiments
    from mshgnn.reproduction.demo import demo_table, draw_demo, labels_of_test, run_demo, save_costs
    from mshgnn.reproduction.layout import JOINT_SEEN

    checked = [experiment for cell in JOINT_SEEN for experiment in load_experiments(Path("joint"), changes, [cell])]
    console = Console()
    try:
        rows = run_demo(checked, make_display(console))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    console.print(demo_table(rows))
    labels = labels_of_test(load_data(checked[0]))
    for path in (save_costs(rows, out), *draw_demo(rows, labels, out)):
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
