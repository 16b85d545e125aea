"""``mshgnn figure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAMES = ("stars", "layer")


def figure(
    name: Annotated[str, typer.Argument(help="stars (figure 1 of the paper) or layer (figure 2).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .png, .svg or .pdf.")],
) -> None:
    """Draw a figure of the paper, its numbers computed anew by the code.

    Example: mshgnn figure stars --out stars.png

    Example: mshgnn figure layer --out layer.svg
    """
    from mshgnn.errors import UserError, did_you_mean
    from mshgnn.report.canvas import check_picture

    if name not in NAMES:
        raise UserError(f"unknown figure {name!r}{did_you_mean(name, NAMES)}")
    check_picture(out)
    if name == "stars":
        from mshgnn.report.stars import draw_stars
        from mshgnn.reproduction.stars import compare_stars

        draw_stars(compare_stars(), out)
    else:
        from mshgnn.report.layer import draw_layer
        from mshgnn.reproduction.layer_shapes import layer_steps

        draw_layer(*layer_steps(), out)
    typer.echo(f"wrote {out}")
