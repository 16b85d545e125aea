"""``mshgnn compare``: ours beside the tools of others on the same splits, one record for each run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

compare_app = typer.Typer(no_args_is_help=True, help="Compare with other tools; records for 'mshgnn tables'.")

Data = Annotated[Path, typer.Option("--data", help="Folder of the tables as they are published.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs side by side, one thread each.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="For all systems alike (default: each has its own).")]


@compare_app.command()
def molecules(
    data: Data,
    chemprop: Annotated[Path | None, typer.Option(help="The executable of chemprop, in its own environment.")] = None,
    sets: Annotated[str | None, typer.Option(help="ESOL,BBBP,Lipophilicity,Tox21,QM8,HIV")] = None,
    splits: Annotated[str | None, typer.Option(help="scaffold,random")] = None,
    seeds: Annotated[str, typer.Option(help="Of split, weights and batches.")] = "0,1,2",
    systems: Annotated[str | None, typer.Option(help="msh-stable,gine,morgan-forest,chemprop")] = None,
    jobs: Jobs = 1,
    epochs: Epochs = None,
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results/molecules"),
    work: Annotated[Path, typer.Option(help="Folder of tables, splits and logs.")] = Path("runs/molecules"),
) -> None:
    """Train on tables of molecules by the commands a user has; a finished run is not run again.

    Example: mshgnn compare molecules --data tables --chemprop env/bin/chemprop --sets ESOL --jobs 2
    """
    from mshgnn.reproduction.molecules.compare import compare
    from mshgnn.reproduction.molecules.plan import SETS, SPLITS, SYSTEMS, cells

    chosen = list(cells(_listed(sets, SETS), _listed(splits, SPLITS), _numbers(seeds), _listed(systems, SYSTEMS)))
    with _stoppable(str(results)):
        failed = compare(chosen, data, results, work, _say, jobs=jobs, epochs=epochs, chemprop=chemprop)
    _end(failed)


def _listed(text: str | None, known: Iterable[str]) -> list[str]:
    """Names between commas; all where none is asked for."""
    return list(known) if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    from mshgnn.errors import UserError

    names = _listed(text, ())
    if not names or not all(name.isdecimal() and len(name) < 10 for name in names):
        raise UserError(f"--seeds {text}: whole numbers between commas, as in 0,1,2")
    return [int(name) for name in names]


def _say(line: str) -> None:
    typer.echo(line)


@contextmanager
def _stoppable(kept: str) -> Iterator[None]:
    """Ctrl-C and a polite kill both stop the commands under way; what is finished stays."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before: Callable[[int, FrameType | None], object] | int | None = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"mshgnn: stopped; finished runs are kept in {kept}, the same command goes on", err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(failed: list[str]) -> None:
    if failed:
        typer.echo(f"mshgnn: {len(failed)} runs failed, the first: {failed[0]}", err=True)
        raise typer.Exit(1)
