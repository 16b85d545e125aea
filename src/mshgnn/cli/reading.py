"""Options that decide how a user's file is read, the same for every command that reads one."""

from __future__ import annotations

from collections.abc import Iterable
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


READER = ("target", "objective", "smiles_column", "id_column", "split_column", "ignore", "directed")
"""The parameters that a command has these options in."""
TRAINER = (*READER, "metric", "weight_column", "unseen", "on_error")
"""Those of a command that also trains."""


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were said."""
    return {key: value for key, value in options.items() if value is not None}


def chosen(names: Iterable[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Those of a command's ``locals()`` that were said; they are called as in a config."""
    return given({name: arguments[name] for name in names})


def asked_for(data: str, arguments: dict[str, Any]) -> Asked:
    """What the ``locals()`` of a command ask the reader of a file for."""
    from mshgnn.predictor.config import check_config

    return check_config({"data": data, **chosen(READER, arguments)}, "options").asked()
