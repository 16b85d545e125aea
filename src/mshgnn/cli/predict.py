"""``mshgnn predict``, ``mshgnn evaluate`` and ``mshgnn embed``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mshgnn.cli.targets import show_targets

if TYPE_CHECKING:
    from mshgnn.predictor.ensemble import Ensemble, OnError

Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that 'mshgnn train' wrote.")]
Data = Annotated[Path, typer.Argument(help="A file or folder of the kind that the model was trained on.")]
OnErrorText = Annotated[str, typer.Option("--on-error", help="Rows that cannot be read: skip or stop.")]
DeviceText = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]
Memory = Annotated[str | None, typer.Option(help="What may be taken at most, such as 8G.")]


def predict(
    folder: Folder,
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .csv or .tsv, also with .gz. Default: NAME_predictions.csv.")
    ] = None,
    on_error: OnErrorText = "skip",
    batch_size: Annotated[int, typer.Option(min=1, max=10**9, help="Rows in memory at once.")] = 500,
    device: DeviceText = "cpu",
    memory: Memory = None,
) -> None:
    """Predict every row of a file: all its columns are kept, the predictions come after them.

    Example: mshgnn predict model/ new.csv -o out.csv
    """
    from mshgnn.machine import use_memory
    from mshgnn.predictor.predict import predict_file

    use_memory(memory)
    model, mode = load_model(folder, device), _mode(on_error)
    target = out or Path(f"{data.resolve().name.partition('.')[0]}_predictions.csv")
    done = predict_file(model, data, target, on_error=mode, chunk=batch_size)
    typer.echo(f"wrote {target}: {done.rows:,} rows, {done.beyond:,} of them beyond the training data")
    if done.failed:
        typer.echo(f"mshgnn: {done.failed:,} rows could not be predicted, the first: {done.first_problem}", err=True)


def evaluate(
    folder: Folder, data: Data, on_error: OnErrorText = "stop", device: DeviceText = "cpu", memory: Memory = None
) -> None:
    """Measure a trained model on a file whose targets are known.

    Example: mshgnn evaluate model/ test.csv
    """
    from mshgnn.machine import use_memory
    from mshgnn.predictor.evaluate import evaluate_file
    from mshgnn.training.metrics import KNOWN_METRICS

    use_memory(memory)
    found = evaluate_file(load_model(folder, device), data, on_error=_mode(on_error))
    for name, value in found.metrics.items():
        typer.echo(f"{name}: {KNOWN_METRICS[name].as_text(value)}")
    show_targets([(line, KNOWN_METRICS[line.name]) for line in found.measured])
    if found.held is not None and found.promised is not None:
        typer.echo(f"intervals hold {100 * found.held:.1f} % of the values, promised {100 * found.promised:.0f} %")
    typer.echo(f"{found.items:,} rows")
    if found.failed:
        typer.echo(f"mshgnn: {found.failed:,} rows could not be read, the first: {found.first_problem}", err=True)


def embed(
    folder: Folder,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .npz (embeddings, rows) or a .csv.")] = Path(
        "embeddings.npz"
    ),
    member: Annotated[int, typer.Option(help="Which model of an ensemble.")] = 0,
    on_error: OnErrorText = "skip",
    device: DeviceText = "cpu",
    memory: Memory = None,
) -> None:
    """Write what the model makes of each row before its last layer: fingerprints for other tools.

    Example: mshgnn embed model/ molecules.csv -o embeddings.npz
    """
    from mshgnn.machine import use_memory
    from mshgnn.predictor.embed import embed_file

    use_memory(memory)
    done = embed_file(load_model(folder, device), data, out, member=member, on_error=_mode(on_error))
    typer.echo(f"wrote {out}: {done.rows:,} rows of {done.width} numbers")
    if done.failed:
        typer.echo(f"mshgnn: {done.failed:,} rows could not be embedded, the first: {done.first_problem}", err=True)


def load_model(folder: Path, device: str) -> Ensemble:
    """A trained model on the device of that name."""
    from mshgnn.machine import check_device
    from mshgnn.predictor.ensemble import Ensemble

    return Ensemble.load(folder, check_device(device))


def _mode(on_error: str) -> OnError:
    from mshgnn.errors import UserError

    if on_error == "skip":
        return "skip"
    if on_error == "stop":
        return "stop"
    raise UserError(f"--on-error: skip or stop, not {on_error!r}")
