"""The command line: parses, calls, prints. Heavy imports wait inside the commands, so that --help is quick."""

from __future__ import annotations

import errno
import sys
from typing import Annotated, NoReturn

import typer

from mshgnn import __version__
from mshgnn.cli.large_pages import ask_for_large_pages
from mshgnn.errors import Failure, UserError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP}
"""What the system answers to a path of the user's, wherever it is first looked at. Other errors may be bugs."""

app = typer.Typer(
    name="mshgnn",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mshgnn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Harmonic message passing on graphs: data, experiments, benchmarks."""
    if context.invoked_subcommand != "bench":  # it measures layers as they are in a user's own program
        ask_for_large_pages()


def _assemble() -> None:
    """Add the commands and groups, each from its own file."""
    from mshgnn.cli import (
        bench,
        ceiling,
        compare,
        data,
        demo,
        explain,
        figure,
        models,
        predict,
        report,
        reproduce,
        run,
        tables,
        train,
        tune,
    )

    app.command("train")(train.train)
    app.command("predict")(predict.predict)
    app.command("evaluate")(predict.evaluate)
    app.command("embed")(predict.embed)
    app.command("report")(report.report)
    app.command("plot")(report.plot)
    app.command("explain")(explain.explain)
    app.command("init")(train.init)
    app.command("tune")(tune.tune)
    app.command("run")(run.run)
    app.command("show")(run.show)
    app.command("record")(run.record)
    app.command("ceiling")(ceiling.ceiling)
    app.command("demo")(demo.demo)
    app.command("figure")(figure.figure)
    app.command("reproduce")(reproduce.reproduce)
    app.command("tables")(tables.tables)
    app.command("models")(models.models)
    app.add_typer(data.data_app, name="data")
    app.add_typer(bench.bench_app, name="bench")
    app.add_typer(compare.compare_app, name="compare")


def main() -> None:
    """Run a command. What went wrong is one line on stderr: 2 for a user's mistake, 1 for work that failed.

    A bug keeps its traceback.
    """
    try:
        app()
    except UserError as error:
        _end(str(error), 2)
    except Failure as error:
        _end(str(error), 1)
    except OSError as error:
        if error.errno in FULL:
            _end(_told(error), 1)
        if error.errno in REFUSED:
            _end(_told(error), 2)
        raise


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)


def _end(line: str, code: int) -> NoReturn:
    print(f"mshgnn: {line}", file=sys.stderr)
    raise SystemExit(code) from None


_assemble()
