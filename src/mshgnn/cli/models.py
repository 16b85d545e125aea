"""``mshgnn models``: what models there are, and what can be set in each."""

from __future__ import annotations

from typing import Annotated

import typer


def models(
    name: Annotated[str | None, typer.Argument(help="A model: its options, what they take, their defaults.")] = None,
) -> None:
    """Show all models and controls, or the options of one.

    Example: mshgnn models msh-stable
    """
    from rich.console import Console
    from rich.table import Table

    from mshgnn.errors import UserError, did_you_mean
    from mshgnn.models import MODELS, resolve
    from mshgnn.models.controls import CONTROLS
    from mshgnn.nn.options import describe_type

    if name is None:
        table = Table("name", "model", "edge features", "source")
        for known, builder in MODELS.items():
            table.add_row(known, builder.title, "yes" if builder.takes_edge_features else "no", builder.paper)
        for known, control in CONTROLS.items():
            table.add_row(known, "control", "no", (control.__doc__ or "").splitlines()[0])
    elif name in CONTROLS:
        print(f"{name}: a control without options. {CONTROLS[name].__doc__}")
        return
    elif name in MODELS:
        print(f"{name}: {MODELS[name].title} ({MODELS[name].paper})")
        table = Table("option", "takes", "default")
        for option, default in resolve(name).items():
            table.add_row(option, describe_type(MODELS[name].options[option].annotation), str(default))
    else:
        raise UserError(f"unknown model {name!r}{did_you_mean(name, [*MODELS, *CONTROLS])}")
    Console(width=None if Console().is_terminal else 120).print(table)
