"""``mshgnn tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
    given,
)


def tune(
    data: Annotated[Path | None, typer.Argument(help="The file or folder to train on.")] = None,
    budget: Annotated[str, typer.Option(help="How long: 90s, 30m or 2h.")] = "30m",
    out: Annotated[Path, typer.Option("--out", "-o", help="The config to write; trials lie beside it.")] = Path(
        "tuned.yaml"
    ),
    target: Target = None,
    config: Annotated[Path | None, typer.Option(help="A config to start from.")] = None,
    model: Annotated[str | None, typer.Option(help="A name of 'mshgnn models'.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of a trial at most.")] = None,
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
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto.")] = None,
) -> None:
    """Look for settings that are better on validation; the test part is not looked at.

    Example: mshgnn tune molecules.csv --target solubility --budget 30m -o tuned.yaml
    """
    from mshgnn.cli.train import make_config
    from mshgnn.predictor.tune import seconds_of
    from mshgnn.predictor.tune import tune as run

    columns = chosen(TRAINER, locals())
    changes: dict[str, Any] = {
        "data": None if data is None else str(data),
        "model": None if model is None else {"name": model},
        "training": given({"epochs": epochs, "device": device}) or None,
    }
    found = run(make_config(config, given(changes) | columns), out, seconds_of(budget), typer.echo)
    typer.echo(f"{found.trials} trials; validation {found.first:.4g} at first, {found.best:.4g} at best")
    typer.echo(f"wrote {out}; train with: mshgnn train --config {out} --out model/")
