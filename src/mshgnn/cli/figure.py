"""``mshgnn figure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ABLATIONS = ("ablation-encoding", "ablation-frequencies", "ablation-readout")
NAMES = ("stars", "layer", "critical-difference", *ABLATIONS)


def figure(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .png, .svg or .pdf.")],
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results"),
) -> None:
    """Draw a figure: of the paper, its numbers computed anew, or from the records.

    stars and layer are the paper's figures 1 and 2; critical-difference ranks models over the graph sets; the
    ablations are box plots over folds and seeds, as in figure 3.

    Example: mshgnn figure stars --out stars.png

    Example: mshgnn figure critical-difference --out ranks.svg
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
    elif name == "layer":
        from mshgnn.report.layer import draw_layer
        from mshgnn.reproduction.layer_shapes import layer_steps

        draw_layer(*layer_steps(), out)
    elif name == "critical-difference":
        _draw_ranks(results, out)
    else:
        from mshgnn.reproduction.ablations import draw_ablation

        draw_ablation(name, results, out)
    typer.echo(f"wrote {out}")


def _draw_ranks(results: Path, out: Path) -> None:
    from mshgnn.report.critical_difference import draw_critical_difference
    from mshgnn.reproduction.layout import plain_title
    from mshgnn.reproduction.ranking import rank_graph_models
    from mshgnn.reproduction.results import load_results

    found = rank_graph_models(load_results(results))
    names = {plain_title(model): model == "msh-stable" for model in found.models}
    draw_critical_difference(found.ranking, names, found.title, out)
