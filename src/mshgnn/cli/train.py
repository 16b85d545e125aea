"""``mshgnn train`` and ``mshgnn init``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mshgnn.predictor.config import TrainConfig
    from mshgnn.predictor.summary import Summary

Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="Target column; again for several, '*' for all that are left."),
]
Smiles = Annotated[str | None, typer.Option(help="Column of SMILES (default: smiles).")]


def train(
    data: Annotated[
        Path | None, typer.Argument(help="A .csv of SMILES, a .jsonl of graphs, a folder with nodes.csv and edges.csv.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the model.")] = Path("model"),
    target: Target = None,
    config: Annotated[Path | None, typer.Option(help="A saved config.yaml; options here change it.")] = None,
    model: Annotated[str | None, typer.Option(help="A name of 'mshgnn models'.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="hidden_channels=32, training.batch_size=64.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs at most.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many epochs without a better one.")] = None,
    metric: Annotated[str | None, typer.Option(help="rmse, mae, r2, accuracy, f1, roc_auc, ...")] = None,
    objective: Annotated[str | None, typer.Option(help="classify, rank, regress or multilabel.")] = None,
    split: Annotated[str | None, typer.Option(help="random, stratified, scaffold, column or file.")] = None,
    split_column: Annotated[str | None, typer.Option(help="Column with train, val and test.")] = None,
    split_file: Annotated[str | None, typer.Option(help="A splits.json.")] = None,
    folds: Annotated[int | None, typer.Option(help="Train an ensemble over so many folds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of splits, weights and batches.")] = None,
    class_weights: Annotated[str | None, typer.Option(help="balanced: rare classes count as much.")] = None,
    smiles_column: Smiles = None,
    id_column: Annotated[str | None, typer.Option(help="Column with the ids of nodes.")] = None,
    weight_column: Annotated[
        str | None, typer.Option(help="Column that says how much each row counts in the loss.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; again for several.")] = None,
    directed: Annotated[bool | None, typer.Option("--directed", help="Edges go one way only.")] = None,
    on_error: Annotated[str | None, typer.Option(help="Rows that cannot be read: stop or skip.")] = None,
    controls: Annotated[bool | None, typer.Option("--controls/--no-controls", help="Measure what is to beat.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto.")] = None,
) -> None:
    """Train a model on your own data and keep it; the same command again goes on where it was stopped.

    Example: mshgnn train molecules.csv --target solubility --out model/
    """
    from rich.console import Console

    from mshgnn.machine import keep_freed_blocks
    from mshgnn.predictor.config import changes_of
    from mshgnn.predictor.fold import TrainingFailed
    from mshgnn.predictor.progress import ConsoleWatcher
    from mshgnn.predictor.train import train as run

    changes = changes_of(set_ or [])
    if model is not None:
        changes["model"] = {"name": model, **changes.get("model", {})}
    given = {"epochs": epochs, "patience": patience, "class_weights": class_weights, "device": device}
    if settings := {key: value for key, value in given.items() if value is not None}:
        changes["training"] = {**changes.get("training", {}), **settings}
    if split is None and (split_column or split_file):
        split = "column" if split_column else "file"
    single: dict[str, Any] = {
        "data": None if data is None else str(data),
        "target": target,
        "metric": metric,
        "objective": objective,
        "split": split,
        "split_column": split_column,
        "split_file": split_file,
        "folds": folds,
        "seed": seed,
        "smiles_column": smiles_column,
        "id_column": id_column,
        "weight_column": weight_column,
        "ignore": ignore,
        "directed": directed,
        "on_error": on_error,
        "controls": controls,
    }
    changes |= {key: value for key, value in single.items() if value is not None}
    console = Console()
    keep_freed_blocks()
    try:
        with _stopped_like_ctrl_c():
            summary = run(make_config(config, changes), out, ConsoleWatcher(console))
    except KeyboardInterrupt:
        there = any(out.glob("model_*/fold.json"))
        state = f"what {out} holds can be used" if there else "there is no model yet"
        typer.echo(f"mshgnn: stopped; {state}, the same command goes on", err=True)
        raise typer.Exit(130) from None
    except TrainingFailed as error:
        typer.echo(f"mshgnn: {error}", err=True)
        raise typer.Exit(1) from None
    _show(summary, console)
    if summary.interrupted:
        typer.echo(f"mshgnn: stopped; {out} holds the best epoch so far, the same command goes on", err=True)
        raise typer.Exit(130)


@contextmanager
def _stopped_like_ctrl_c() -> Iterator[None]:
    """A polite kill (SIGTERM: a batch system, a closing session) also leaves the best epoch so far."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def init(
    data: Annotated[Path, typer.Argument(help="The file or folder to train on.")],
    target: Target = None,
    smiles_column: Smiles = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("config.yaml"),
) -> None:
    """Write a commented config for your data, to be changed and given to 'mshgnn train --config'.

    Example: mshgnn init molecules.csv --target solubility -o config.yaml
    """
    from mshgnn.predictor.template import write_template

    write_template(data, tuple(target or ()), smiles_column or "smiles", out)
    typer.echo(f"wrote {out}; train with: mshgnn train --config {out} --out model/")


def make_config(path: Path | None, changes: dict[str, Any]) -> TrainConfig:
    """The description in a file with ``changes``, or one of the changes alone."""
    from mshgnn.errors import UserError
    from mshgnn.predictor.config import DEFAULT_MODEL, check_config, load_config

    if path is not None:
        return load_config(path, changes)
    if "data" not in changes:
        raise UserError("what shall be trained on? give DATA or --config")
    if "name" not in (named := changes.get("model", {"name": DEFAULT_MODEL})):
        changes = {**changes, "model": {"name": DEFAULT_MODEL, **named}}
    return check_config(changes, "train")


def _show(summary: Summary, console: Any) -> None:
    from rich.table import Table

    from mshgnn.predictor.progress import duration
    from mshgnn.training.metrics import KNOWN_METRICS

    spread = f", mean ± deviation over {summary.folds} folds" if summary.folds > 1 else ""
    table = Table("", f"test {summary.metric}{spread}")
    for line in summary.lines:
        table.add_row(line.name, line.text(KNOWN_METRICS[summary.metric]))
    console.print(table)
    console.print(f"trained in {duration(summary.seconds)}; kept in {summary.folder}", highlight=False, soft_wrap=True)
