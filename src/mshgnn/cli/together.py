"""Commands that several workers run at once: one of them speaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mshgnn.errors import Failure, UserError

if TYPE_CHECKING:
    from mshgnn.training.parallel import Workers


class EngineChoice(StrEnum):
    """Who computes."""

    local = "local"
    ray = "ray"


Engine = Annotated[EngineChoice, typer.Option(help="This machine, or a Ray cluster.")]
RayAddress = Annotated[str | None, typer.Option(help="Address of an existing Ray cluster.")]
RayWorkers = Annotated[
    int | None, typer.Option(min=1, help="With --engine ray: so many workers train each model together.")
]


@contextmanager
def together() -> Iterator[Workers]:
    """The workers that ``torchrun`` started with this command, or this process alone.

    Of what goes wrong, in one of them or in all, one line is told: a user's mistake ends with 2, a failure with 1.
    """
    from mshgnn.training.parallel import ALONE, join

    workers = ALONE
    try:
        with join() as workers:
            yield workers
    except UserError:
        if workers.is_first_to_fail():
            raise
        raise typer.Exit(2) from None
    except Failure as error:
        if workers.is_first_to_fail():
            typer.echo(f"mshgnn: {error}", err=True)
        raise typer.Exit(1) from None


def check_ray_workers(count: int | None, ray: bool, workers: Workers) -> None:
    """Refuse ``--workers`` without ``--engine ray``, and Ray among workers that ``torchrun`` started."""
    if count is not None and not ray:
        start = f"torchrun --standalone --nproc-per-node {count} -m mshgnn ..."
        raise UserError(f"--workers is for --engine ray; on this machine: {start}")
    if ray and workers.are_several:
        raise UserError("--engine ray: starts its workers itself; leave out either torchrun or --engine ray")
