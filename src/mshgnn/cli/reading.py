"""Options that decide how a user's file is read, the same for every command that reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mshgnn.data.readers.asked import Asked

Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="Target column; again for several, '*' for all that are left."),
]
Smiles = Annotated[str | None, typer.Option(help="Column of SMILES (default: smiles).")]
Objective = Annotated[str | None, typer.Option(help="classify, rank, regress or multilabel.")]
Metric = Annotated[str | None, typer.Option(help="rmse, mae, r2, accuracy, f1, roc_auc, ...")]
IdColumn = Annotated[str | None, typer.Option(help="Column with the ids of nodes.")]
SplitColumn = Annotated[str | None, typer.Option(help="Column with train, val and test.")]
WeightColumn = Annotated[str | None, typer.Option(help="Column that says how much each row counts in the loss.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; again for several.")]
Directed = Annotated[bool | None, typer.Option("--directed", help="Edges go one way only.")]
Unseen = Annotated[
    str | None, typer.Option(help="Labels that the training part lacks: other (a column of their own) or error.")
]
OnError = Annotated[str | None, typer.Option(help="Rows that cannot be read: stop or skip.")]


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were said."""
    return {key: value for key, value in options.items() if value is not None}


def asked_for(data: str, options: dict[str, Any]) -> Asked:
    """What the reader of a file is asked for; options are called as in a config."""
    from mshgnn.predictor.config import check_config

    return check_config({"data": data, **given(options)}, "options").asked()
