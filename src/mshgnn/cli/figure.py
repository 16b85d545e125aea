"""``mshgnn figure``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mshgnn.cli.demo import EPOCHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mshgnn.reproduction.demo import Trained

ABLATIONS = ("ablation-encoding", "ablation-frequencies", "ablation-readout")
NAMES = ("stars", "layer", "responses", "embedding", "critical-difference", "worth", *ABLATIONS)
RESPONSE_EPOCHS = 30  # enough for a learned response, within a minute


def figure(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .png, .svg or .pdf.")],
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results"),
    model: Annotated[
        Path | None,
        typer.Option(help="Of responses: a folder of 'mshgnn train'; without it the joint task is trained."),
    ] = None,
) -> None:
    """Draw a figure: of the paper, its numbers computed anew, or from the records.

    stars and layer are the paper's figures 1 and 2; critical-difference ranks models over the graph sets; worth shows
    what each message misses and costs; the ablations are box plots over folds and seeds, as in figure 3.

    responses trains msh-stable on the joint task for a minute unless --model is given; embedding trains the four models
    of 'mshgnn demo', which takes minutes.

    Example: mshgnn figure stars --out stars.png

    Example: mshgnn figure critical-difference --out ranks.svg

    Example: mshgnn figure responses --model model/ --out responses.svg
    """
    from mshgnn.errors import UserError, did_you_mean
    from mshgnn.report.canvas import check_picture

    if name not in NAMES:
        raise UserError(f"unknown figure {name!r}{did_you_mean(name, NAMES)}")
    if model is not None and name != "responses":
        raise UserError(f"--model {model}: only the figure responses takes one, not {name}")
    check_picture(out)
    if name == "stars":
        from mshgnn.report.stars import draw_stars
        from mshgnn.reproduction.stars import compare_stars

        draw_stars(compare_stars(), out)
    elif name == "layer":
        from mshgnn.report.layer import draw_layer
        from mshgnn.reproduction.layer_shapes import layer_steps

        draw_layer(*layer_steps(), out)
    elif name == "responses":
        _responses(model, out)
    elif name == "embedding":
        _embedding(out)
    elif name == "critical-difference":
        _draw_ranks(results, out)
    elif name == "worth":
        from mshgnn.reproduction.results import load_results
        from mshgnn.reproduction.worth import draw_worth

        draw_worth(load_results(results), out)
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


def _responses(folder: Path | None, out: Path) -> None:
    from mshgnn.errors import UserError
    from mshgnn.predictor.contents import is_model, subject_of_model
    from mshgnn.report.responses import draw_responses
    from mshgnn.reproduction.demo import joint_responses

    if folder is None:
        (trained,) = _trained(["structure-frequency-fixed/msh-stable"], RESPONSE_EPOCHS).values()
        draw_responses(joint_responses(trained), out, title="Frequency response of msh-stable on the joint task")
        return
    if not is_model(folder):
        raise UserError(f"--model {folder}: is no folder of 'mshgnn train'")
    subject = subject_of_model(folder)
    if subject.shown is None or not subject.shown.responses:
        raise UserError(f"--model {folder}: holds no frequency responses, for {subject.model} has no bands")
    draw_responses(subject.shown.responses, out, title=f"Frequency response of {subject.model} on {subject.dataset}")


def _embedding(out: Path) -> None:
    from mshgnn.reproduction.demo import draw_embeddings, embed_test_graphs, labels_of_test
    from mshgnn.reproduction.layout import JOINT_SEEN

    trained = _trained(JOINT_SEEN, EPOCHS)
    embeddings = {name: embed_test_graphs(one.model, one.data) for name, one in trained.items()}
    draw_embeddings(embeddings, labels_of_test(next(iter(trained.values())).data), out)


def _trained(cells: Sequence[str], epochs: int) -> dict[str, Trained]:
    """Models of the joint task by name."""
    from rich.console import Console

    from mshgnn.lab.display import make_display
    from mshgnn.lab.suite import load_experiments
    from mshgnn.reproduction.demo import first_fold, train_first

    display = make_display(Console())
    changes = [f"training.epochs={epochs}"]
    experiments = [one for cell in cells for one in load_experiments(Path("joint"), changes, [cell])]
    return {one.model.name: train_first(first_fold(one), display) for one in experiments}
