"""``mshgnn run``, ``mshgnn show`` and ``mshgnn record``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class EngineChoice(StrEnum):
    """Where folds run."""

    local = "local"
    ray = "ray"


def run(
    experiments: Annotated[list[Path], typer.Argument(metavar="EXPERIMENT...", help="Experiment files (YAML).")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value: training.epochs=50.")
    ] = None,
    jobs: Annotated[str, typer.Option(help="Folds side by side: a number, or auto.")] = "auto",
    engine: Annotated[EngineChoice, typer.Option(help="This machine, or a Ray cluster.")] = EngineChoice.local,
    ray_address: Annotated[str | None, typer.Option(help="Address of an existing Ray cluster.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder (default: runs/NAME-DIGEST).")] = None,
    record_to: Annotated[
        Path | None, typer.Option("--record", help="Also write the compact record: a file or a folder.")
    ] = None,
) -> None:
    """Run experiments fold by fold; what a run's folder holds already is not run again.

    Example: mshgnn run experiments/graph/mutag-gcn.yaml --set training.epochs=50 --jobs 2
    """
    from mshgnn.lab.errors import LabError
    from mshgnn.lab.experiment import load_experiment
    from mshgnn.machine import keep_freed_blocks

    if out is not None and len(experiments) > 1:
        raise LabError("--out: is the folder of one run, but several experiments are given")
    checked = [load_experiment(path, set_ or ()) for path in experiments]
    keep_freed_blocks()
    for experiment in checked:
        _run_one(experiment, out, jobs, engine, ray_address, record_to)


def _run_one(
    experiment: Any, out: Path | None, jobs: str, engine: EngineChoice, ray_address: str | None, record_to: Path | None
) -> None:
    """Run one experiment and print its table of rules."""
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.engines import FoldFailed
    from mshgnn.lab.recording import record_run
    from mshgnn.lab.runner import default_folder, run_experiment
    from mshgnn.report.terminal import rules_table

    console = Console()
    folder = out or default_folder(experiment)
    try:
        finished = run_experiment(
            experiment, folder, make_display(console), jobs=jobs, engine=engine.value, ray_address=ray_address
        )
    except KeyboardInterrupt:
        typer.echo(f"stopped; finished folds are kept in {folder}, run the same command to go on", err=True)
        raise typer.Exit(130) from None
    except FoldFailed as error:
        typer.echo(f"mshgnn: {error}; finished folds are kept in {folder}", err=True)
        raise typer.Exit(1) from None
    console.print(rules_table(finished, finished.rules))
    console.print(f"stored in {folder}", highlight=False, soft_wrap=True)
    if record_to is not None:
        console.print(f"record: {record_run(finished, record_to)}", highlight=False, soft_wrap=True)


def show(runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders or record files.")]) -> None:
    """Print runs side by side under every selection rule, in the order given.

    Example: mshgnn show runs/mutag-gcn-* results/mutag-gin.json.gz
    """
    from rich.console import Console

    from mshgnn.lab.errors import NothingFinished
    from mshgnn.lab.runner import load_run
    from mshgnn.records.record import load_record
    from mshgnn.report.terminal import rules_table, side_by_side

    rows = []
    for path in runs:
        if path.is_file():
            record = load_record(path)
            rows.append((record.info.name, record.run, record.rules))
            continue
        try:
            loaded = load_run(path)
        except NothingFinished as error:
            typer.echo(f"mshgnn: {error}", err=True)
            continue
        rows.append((path.name, loaded, loaded.rules))
    if not rows:
        raise typer.Exit(2)
    console = Console()
    if len(rows) == 1:
        console.print(rules_table(rows[0][1], rows[0][2]))
        return
    fitting = max(1, (console.width - 24) // 24)
    for start in range(0, len(rows), fitting):
        console.print(side_by_side(rows[start : start + fitting]))


def record(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of complete runs.")],
    target: Annotated[Path, typer.Option("--to", help="A folder, or a .json or .json.gz file.")] = Path("results/runs"),
) -> None:
    """Write the compact records of complete runs, to be committed.

    Example: mshgnn record runs/mutag-gcn-1a2b3c4d --to results/runs
    """
    from mshgnn.lab.recording import record_run
    from mshgnn.lab.runner import load_run

    for path in runs:
        typer.echo(str(record_run(load_run(path), target)))
