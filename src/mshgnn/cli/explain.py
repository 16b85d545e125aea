"""``mshgnn explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mshgnn.cli.predict import Data, DeviceText, Folder, load_model


def explain(
    folder: Folder,
    data: Data,
    row: Annotated[
        list[int] | None, typer.Option("--row", help="Which row of DATA, counted from 0; may be given several times.")
    ] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", help="The same by the cell of the id column.")] = None,
    target: Annotated[str | None, typer.Option(help="Which target, where the model has several.")] = None,
    class_: Annotated[str | None, typer.Option("--class", help="Why this class; by default the one predicted.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="occlusion, gradients, gnnexplainer, attention, alpha or energy; default: all that apply."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder, or a .html, .png or .json. Default: NAME_explained.")
    ] = None,
    device: DeviceText = "cpu",
) -> None:
    """Show which nodes, edges and substructures carry a prediction, and whether to believe it.

    Example: mshgnn explain model/ molecules.csv --row 3

    Example: mshgnn explain model/ molecules.csv --id m7 --id m9 --target toxic -o why.html

    Example: mshgnn explain model/ folder/ --id node17 --method occlusion --method gradients
    """
    from mshgnn.explanation.explain import explain_file
    from mshgnn.explanation.files import check_out, write_explanations
    from mshgnn.explanation.words import in_words

    rows, ids = row or [], id_ or []
    into = out or Path(f"{data.resolve().name.partition('.')[0]}_explained")
    check_out(into, len(rows) + len(ids))
    model = load_model(folder, device)
    found = explain_file(model, data, rows=rows, ids=ids, target=target, class_name=class_, methods=method or ())
    for explanation in found:
        for line in in_words(explanation):
            typer.echo(line)
    for path in write_explanations(found, into, f"model {folder}, data {data}"):
        typer.echo(f"wrote {path}")
