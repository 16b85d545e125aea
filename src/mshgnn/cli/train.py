"""``mshgnn train`` and ``mshgnn init``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mshgnn.cli.predict import Memory
from mshgnn.cli.reading import (
    TRAINER,
    Directed,
    IdColumn,
    Ignore,
    Metric,
    Objective,
    OnError,
    Smiles,
    SplitColumn,
    Target,
    Unseen,
    WeightColumn,
    chosen,
)
from mshgnn.cli.targets import show_targets
from mshgnn.cli.together import Engine, EngineChoice, RayAddress, RayWorkers, check_ray_workers, together

if TYPE_CHECKING:
    from mshgnn.predictor.config import TrainConfig
    from mshgnn.predictor.summary import Summary
    from mshgnn.training.parallel import Workers

MOST_TARGETS = 20
"""So many are printed one by one after a training."""


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
    metric: Metric = None,
    objective: Objective = None,
    split: Annotated[str | None, typer.Option(help="random, stratified, scaffold, column or file.")] = None,
    split_column: SplitColumn = None,
    split_file: Annotated[str | None, typer.Option(help="A splits.json.")] = None,
    folds: Annotated[int | None, typer.Option(help="Train an ensemble over so many folds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of splits, weights and batches.")] = None,
    class_weights: Annotated[str | None, typer.Option(help="balanced: rare classes count as much.")] = None,
    smiles_column: Smiles = None,
    id_column: IdColumn = None,
    weight_column: WeightColumn = None,
    ignore: Ignore = None,
    directed: Directed = None,
    unseen: Unseen = None,
    on_error: OnError = None,
    controls: Annotated[bool | None, typer.Option("--controls/--no-controls", help="Measure what is to beat.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto.")] = None,
    batching: Annotated[
        str | None, typer.Option(help="A step on the one graph of a node task: full, neighbours or partitions.")
    ] = None,
    memory: Memory = None,
    engine: Engine = EngineChoice.local,
    ray_address: RayAddress = None,
    workers: RayWorkers = None,
) -> None:
    """Train a model on your own data and keep it; the same command again goes on where it was stopped.

    Example: mshgnn train molecules.csv --target solubility --out model/

    Example: torchrun --standalone --nproc-per-node 2 -m mshgnn train molecules.csv --out model/
    """
    from mshgnn.machine import use_memory
    from mshgnn.predictor.config import changes_of

    changes = changes_of(set_ or [])
    if model is not None:
        changes["model"] = {"name": model, **changes.get("model", {})}
    if settings := chosen(("epochs", "patience", "class_weights", "device", "batching"), locals()):
        changes["training"] = {**changes.get("training", {}), **settings}
    if split is None and (split_column or split_file):
        split = "column" if split_column else "file"
    changes |= chosen((*TRAINER, "split", "split_file", "folds", "seed", "controls"), locals())
    if data is not None:
        changes["data"] = str(data)
    use_memory(memory)
    with together() as all_workers:
        ray = engine is EngineChoice.ray
        check_ray_workers(workers, ray, all_workers)
        described = make_config(config, changes)
        summary = _by_ray(described, out, workers or 1, ray_address) if ray else _train(described, out, all_workers)
    if summary is None:
        return
    _show(summary)
    if summary.interrupted:
        typer.echo(f"mshgnn: stopped; {out} holds the best epoch so far, the same command goes on", err=True)
        raise typer.Exit(130)


def _train(config: TrainConfig, out: Path, workers: Workers) -> Summary | None:
    """Train in this process, alone or as one of several workers; the first has the summary."""
    from rich.console import Console

    from mshgnn.predictor.progress import ConsoleWatcher
    from mshgnn.predictor.train import train_together

    try:
        with _stopped_like_ctrl_c():
            return train_together(config, out, ConsoleWatcher(Console(quiet=not workers.is_first)), workers)
    except KeyboardInterrupt:
        if workers.is_first:
            there = any(out.glob("model_*/fold.json"))
            state = f"what {out} holds can be used" if there else "there is no model yet"
            typer.echo(f"mshgnn: stopped; {state}, the same command goes on", err=True)
        raise typer.Exit(130) from None


def _by_ray(config: TrainConfig, out: Path, workers: int, address: str | None) -> Summary:
    """Train by workers of a Ray cluster; they see ``out`` under the same name."""
    from functools import partial

    from mshgnn.lab.engines.ray_train import train_by_ray
    from mshgnn.predictor.train import train_silently

    return train_by_ray(partial(train_silently, config.placed(), out.absolute()), workers, address, out.absolute())


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
    objective: Objective = None,
    metric: Metric = None,
    smiles_column: Smiles = None,
    id_column: IdColumn = None,
    split_column: SplitColumn = None,
    weight_column: WeightColumn = None,
    ignore: Ignore = None,
    directed: Directed = None,
    unseen: Unseen = None,
    on_error: OnError = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("config.yaml"),
) -> None:
    """Write a commented config for your data, to be changed and given to 'mshgnn train --config'.

    Example: mshgnn init molecules.csv --target solubility -o config.yaml
    """
    from mshgnn.predictor.template import write_template

    write_template(make_config(None, {"data": str(data), **chosen(TRAINER, locals())}), out)
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
    return check_config(changes, "options")


def _show(summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    from mshgnn.predictor.progress import duration
    from mshgnn.training.metrics import KNOWN_METRICS

    console = Console()
    spread = f", mean ± deviation over {summary.folds} folds" if summary.folds > 1 else ""
    metric, targets = KNOWN_METRICS[summary.metric], len(summary.lines[0].targets)
    over = f", mean over {targets} targets" if targets else ""
    table = Table("", f"test {summary.metric}{over}{spread}")
    for line in summary.lines:
        table.add_row(line.name, line.text(metric))
    console.print(table)
    show_targets([(line, metric) for line in summary.lines], MOST_TARGETS, str(summary.folder / "metrics.json"))
    console.print(f"trained in {duration(summary.seconds)}; kept in {summary.folder}", highlight=False, soft_wrap=True)
