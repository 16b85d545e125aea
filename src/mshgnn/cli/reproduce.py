"""``mshgnn reproduce``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mshgnn.cli.run import Only

if TYPE_CHECKING:
    from mshgnn.reproduction.reproduce import Cost, Target


def reproduce(
    name: Annotated[str, typer.Argument(help="table-1, table-2, table-3, figure-1, figure-3 or figure-4.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it costs, and stop.")] = False,
    only: Only = None,
    jobs: Annotated[str, typer.Option(help="Folds side by side: a number, or auto.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for new records and pictures.")] = Path("reproduced"),
    results: Annotated[Path, typer.Option(help="Folder of the records that tell the cost.")] = Path("results"),
) -> None:
    """Run all that a table or figure of the paper needs, after saying what it costs; then make it.

    Folds that are finished are kept: the same command goes on where it was stopped.

    Example: mshgnn reproduce table-1 --dry-run

    Example: mshgnn reproduce table-1 --only "MUTAG/*" --jobs 2
    """
    from mshgnn.errors import UserError, did_you_mean
    from mshgnn.records.record import load_suite
    from mshgnn.reproduction.cost import recorded_times
    from mshgnn.reproduction.reproduce import TARGETS, estimate, target_experiments
    from mshgnn.reproduction.results import load_results

    if name not in TARGETS:
        raise UserError(f"unknown table or figure {name!r}{did_you_mean(name, TARGETS)}")
    target = TARGETS[name]
    if only and (target.suite is None or target.trains_in_place):
        raise UserError(f"--only is for tables and figures of many cells, not for {name}")
    experiments = target_experiments(target, only or ())
    if target.suite is not None:
        found = load_results(results)
        records = load_suite(results / Path(target.suite).stem)
        times = recorded_times([*found.records.values(), *found.first_folds.values()])
        _say_cost(name, len(experiments), estimate(target, experiments, records, times), results)
    else:
        typer.echo(f"{name}: nothing to train, less than a minute")
    if not dry_run:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out {out}: cannot be written ({error.strerror})") from None
        _make(target, only or [], jobs, out)


def _say_cost(name: str, cells: int, cost: Cost, results: Path) -> None:
    """Core-hours of the cells, data set by data set, and the names of those that nothing is known of."""
    known = f"about {_hours(cost.recorded):.1f} core-hours for {len(cost.recorded)} of them by {results}"
    guessed = f", {_hours(cost.guessed):.1f} for {len(cost.guessed)} guessed from other runs" if cost.guessed else ""
    typer.echo(f"{name}: {cells} cells, {known}{guessed}")
    for dataset, found in _by_set({**cost.recorded, **cost.guessed}).items():
        typer.echo(f"  {dataset}: {sum(found.values()) / 3600:.1f} core-hours for {len(found)} cells")
    if cost.unknown:
        typer.echo(f"nothing to tell by, {len(cost.unknown)} cells:")
    for dataset, found in _by_set(dict.fromkeys(cost.unknown, 0.0)).items():
        typer.echo(f"  {dataset}: {', '.join(found)}")


def _hours(seconds: Mapping[str, float]) -> float:
    return sum(seconds.values()) / 3600


def _by_set(seconds: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Experiments by data set, then by model."""
    found: dict[str, dict[str, float]] = {}
    for experiment, value in seconds.items():
        _, dataset, model = experiment.rsplit("/", 2)
        found.setdefault(dataset, {})[model] = value
    return found


def _make(target: Target, only: list[str], jobs: str, out: Path) -> None:
    """Run the cells, print the tables, draw the pictures."""
    if target.trains_in_place:
        from mshgnn.cli.demo import joint_task

        joint_task(out, [])
        return
    failed = _run(target, only, jobs, out) if target.suite is not None else []
    if target.footprints_of is not None:
        from mshgnn.reproduction.reproduce import measure_costs, target_experiments

        typer.echo("measuring inference time and memory")
        measure_costs(target, target_experiments(target, only), out)
    if target.tables:
        from mshgnn.reproduction.results import load_results
        from mshgnn.reproduction.tables import TABLES

        found = load_results(out)
        for table in target.tables:
            typer.echo(f"\n{TABLES[table](found)}")
    for picture in target.figures:
        from mshgnn.cli.figure import figure

        figure(picture, out / f"{picture}.png", out)
    for reason in failed:
        typer.echo(f"mshgnn: not run: {reason}", err=True)
    if failed:
        raise typer.Exit(1)


def _run(target: Target, only: list[str], jobs: str, out: Path) -> list[str]:
    """Run the cells of a suite; returns what failed."""
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.workers import parse_workers
    from mshgnn.machine import keep_freed_blocks
    from mshgnn.reproduction.reproduce import run_cells, target_experiments

    if jobs != "auto":
        parse_workers(jobs)  # a mistake here would fail every cell
    keep_freed_blocks()
    try:
        return run_cells(target_experiments(target, only), make_display(Console()), jobs, out)
    except KeyboardInterrupt:
        typer.echo("stopped; finished folds are kept in runs, run the same command to go on", err=True)
        raise typer.Exit(130) from None
