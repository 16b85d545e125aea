"""``mshgnn run``, ``mshgnn show`` and ``mshgnn record``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mshgnn.cli.together import Engine, EngineChoice, RayAddress, RayWorkers, check_ray_workers, together

if TYPE_CHECKING:
    from mshgnn.lab.experiment import Experiment
    from mshgnn.lab.runner import EngineName
    from mshgnn.training.parallel import Workers

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="DATASET/MODEL", help="Cells of a suite; * stands for anything.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value: training.epochs=50.")
]


def run(
    files: Annotated[
        list[Path], typer.Argument(metavar="EXPERIMENT...", help="Experiments or suites (YAML), or shipped suites.")
    ],
    only: Only = None,
    set_: Set = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto; short for --set training.device=...")] = None,
    jobs: Annotated[str, typer.Option(help="Folds side by side: a number, or auto.")] = "auto",
    engine: Engine = EngineChoice.local,
    ray_address: RayAddress = None,
    workers: RayWorkers = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run where, and start nothing.")] = False,
    memory: Annotated[str | None, typer.Option(help="What a fold may take at most, such as 8G.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder (default: runs/NAME-DIGEST).")] = None,
    record_to: Annotated[
        Path | None, typer.Option("--record", help="Also write the compact record: a file or a folder.")
    ] = None,
) -> None:
    """Run experiments fold by fold; what a run's folder holds already is not run again.

    Example: mshgnn run graph --only MUTAG/gcn --only "PTC/*" --set training.epochs=50 --jobs 2

    Example: torchrun --standalone --nproc-per-node 2 -m mshgnn run graph --only MUTAG/gcn
    """
    from mshgnn.lab.errors import LabError
    from mshgnn.machine import find_device, use_memory

    with together() as all_workers:
        check_ray_workers(workers, engine is EngineChoice.ray, all_workers)
        chosen = [] if device is None else [f"training.device={device}"]
        experiments = _experiments(files, only, [*(set_ or []), *chosen])
        if len(experiments) > 1:
            if out is not None:
                raise LabError(f"--out: is the folder of one run, but {len(experiments)} experiments are given")
            if all_workers.is_first:
                typer.echo(f"{len(experiments)} experiments")
        if engine is EngineChoice.local:
            for experiment in experiments:
                find_device(experiment.training.device)  # one line, before the workers start
        use_memory(memory)
        how = _How(jobs, engine.value, ray_address, workers)
        for experiment in experiments:
            if not dry_run:
                _run_one(experiment, out, how, all_workers, record_to)
            elif all_workers.is_first:
                _plan_one(experiment, out, how)


def _experiments(files: list[Path], only: list[str] | None, set_: list[str] | None) -> list[Experiment]:
    """The experiments of all files."""
    from mshgnn.lab.suite import load_experiments

    return [experiment for file in files for experiment in load_experiments(file, set_ or (), only or ())]


class _How(NamedTuple):
    """Who computes the folds, in the words of :func:`run_experiment` and :func:`plan_run`."""

    jobs: str
    engine: EngineName
    ray_address: str | None
    ray_workers: int | None


def _plan_one(experiment: Experiment, out: Path | None, how: _How) -> None:
    """Print what a run would do."""
    from mshgnn.lab.plan import plan_run
    from mshgnn.lab.runner import default_folder

    for line in plan_run(experiment, out or default_folder(experiment), **how._asdict()):
        typer.echo(line)


def _run_one(experiment: Experiment, out: Path | None, how: _How, workers: Workers, record_to: Path | None) -> None:
    """Run one experiment and print its table of rules."""
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.engines.together import follow
    from mshgnn.lab.errors import RunFailed, RunFolderLost
    from mshgnn.lab.recording import record_path, record_run
    from mshgnn.lab.runner import default_folder, run_experiment
    from mshgnn.report.terminal import rules_table

    console = Console()
    folder = out or default_folder(experiment)
    try:
        if not workers.is_first:
            follow(experiment, folder, workers)
            return
        if record_to is not None:  # hours before it is written
            record_path(experiment.name, experiment.decisive(), record_to)
        finished = run_experiment(
            experiment,
            folder,
            make_display(console),
            workers=workers,
            say=typer.echo,
            **how._asdict(),
        )
    except KeyboardInterrupt:
        if workers.is_first:
            typer.echo(f"stopped; finished folds are kept in {folder}, run the same command to go on", err=True)
        raise typer.Exit(130) from None
    except RunFailed as error:
        if isinstance(error, RunFolderLost):
            raise
        raise type(error)(f"{error}; finished folds are kept in {folder}") from None
    console.print(rules_table(finished, finished.rules))
    console.print(f"stored in {folder}", highlight=False, soft_wrap=True)
    if record_to is not None:
        console.print(f"record: {record_run(finished, record_to)}", highlight=False, soft_wrap=True)


def show(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders or record files; experiments with --resolved.")
    ],
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print experiments or a suite's cells in full, defaults included.")
    ] = False,
    only: Only = None,
    set_: Set = None,
) -> None:
    """Print runs side by side under every selection rule, in the order given; or experiments in full.

    Example: mshgnn show runs/mutag-gcn-* results/graph/MUTAG/gin.json.gz

    Example: mshgnn show graph --resolved --only "MUTAG/*"
    """
    from mshgnn.errors import UserError

    if resolved:
        _show_resolved(_experiments(runs, only, set_))
    elif only or set_:
        raise UserError("--only and --set are for experiments: add --resolved")
    else:
        _show_runs(runs)


def _show_resolved(experiments: list[Experiment]) -> None:
    """Each experiment as a file that can be run."""
    import yaml

    described = [experiment.resolved() for experiment in experiments]
    typer.echo(yaml.safe_dump_all(described, sort_keys=False, allow_unicode=True, width=118), nl=False)


def _show_runs(runs: list[Path]) -> None:
    """Runs under every rule, as many side by side as fit."""
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
    target: Annotated[Path, typer.Option("--to", help="A folder, or a .json or .json.gz file.")] = Path("results"),
) -> None:
    """Write the compact records of complete runs, to be committed.

    Example: mshgnn record runs/graph/MUTAG/gcn-1a2b3c4d --to results
    """
    from mshgnn.lab.recording import record_run
    from mshgnn.lab.runner import load_run

    for path in runs:
        typer.echo(str(record_run(load_run(path), target)))
