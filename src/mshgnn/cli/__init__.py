"""The command line: parses, calls, prints. Heavy imports wait inside the commands, so that --help is quick."""

from __future__ import annotations

import sys

import typer

from mshgnn.errors import UserError

app = typer.Typer(
    name="mshgnn",
    help="Harmonic message passing on graphs: data, experiments, benchmarks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _assemble() -> None:
    """Add the commands and groups, each from its own file."""
    from mshgnn.cli import bench, ceiling, data, demo, run, tables

    app.command("run")(run.run)
    app.command("show")(run.show)
    app.command("record")(run.record)
    app.command("ceiling")(ceiling.ceiling)
    app.command("demo")(demo.demo)
    app.command("tables")(tables.tables)
    app.add_typer(data.data_app, name="data")
    app.add_typer(bench.bench_app, name="bench")


def main() -> None:
    """Run a command. A mistake of the user is one line on stderr and exit code 2; a bug keeps its traceback."""
    try:
        app()
    except UserError as error:
        print(f"mshgnn: {error}", file=sys.stderr)
        raise SystemExit(2) from None


_assemble()
