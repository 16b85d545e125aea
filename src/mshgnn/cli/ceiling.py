"""``mshgnn ceiling``: how far any model bounded by 1-WL can get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mshgnn.cli.reading import Directed, IdColumn, Ignore, Objective, Smiles, SplitColumn, Target, asked_for


def ceiling(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Data sets by name, or paths to data of your own.")
    ],
    rounds: Annotated[int, typer.Option(min=0, max=1000, help="Rounds of colour refinement.")] = 3,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also keep the ceilings, in percent, in this file.")
    ] = None,
    lookup: Annotated[bool, typer.Option(help="Also score the 1-WL lookup table on the splits.")] = True,
    target: Target = None,
    objective: Objective = None,
    smiles_column: Smiles = None,
    id_column: IdColumn = None,
    split_column: SplitColumn = None,
    ignore: Ignore = None,
    directed: Directed = None,
) -> None:
    """The 1-WL ceiling of data sets: the best accuracy with every label known, and label conflicts, by round.

    Example: mshgnn ceiling MUTAG IMDB-BINARY
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from mshgnn.data import load_any, load_splits
    from mshgnn.data.sizes import target_lines
    from mshgnn.errors import UserError
    from mshgnn.evaluation.ceiling import wl_ceiling, wl_lookup_score
    from mshgnn.files import written

    console = Console()
    kept = {} if json_file is None or not json_file.exists() else _kept(json_file)
    arguments = locals()
    for name in datasets:
        dataset = load_any(name, asked_for(name, arguments))
        if dataset.objective not in ("classify", "rank"):
            raise UserError(f"{name}: a ceiling is for classes; its objective is {dataset.objective!r}")
        found = wl_ceiling(dataset, rounds)
        table = Table("round", "node colours", "classes", "in conflict", "ceiling, %")
        table.title = f"{found.dataset}: {found.items:,} {dataset.task}s, first colours from {found.initial}"
        for row in found.rounds:
            table.add_row(
                str(row.round),
                f"{row.node_colours:,}",
                f"{row.classes:,}",
                f"{row.conflicts:,}",
                f"{100 * row.ceiling:.1f}",
            )
        console.print(table)
        if not dataset.catalogued:
            console.print(*target_lines(dataset), sep="\n", markup=False, highlight=False, soft_wrap=True)
        kept[dataset.name] = round(100 * found.ceiling, 2)
        if lookup and dataset.metric == "accuracy":
            score = wl_lookup_score(dataset, [fold.test for fold in load_splits(dataset).folds], rounds)
            console.print(
                f"1-WL lookup table fitted without the test fold, {score.folds} folds: "
                f"{100 * score.whole_set:.1f} % of everything, {100 * score.held_out:.1f} % of the held-out",
                highlight=False,
            )
    if json_file is not None:
        with written(json_file) as file:
            file.write((json.dumps(kept, indent=2) + "\n").encode())


def _kept(path: Path) -> dict[str, float]:
    """The ceilings that a file has already."""
    from mshgnn.errors import UserError
    from mshgnn.files import read_json

    content = read_json(path)
    if not isinstance(content, dict):
        raise UserError(f"--json {path}: must hold ceilings by the name of the data set")
    return content
