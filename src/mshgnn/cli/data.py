"""``mshgnn data``: what data sets there are, whether they are as published, and their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mshgnn.cli.reading import Directed, IdColumn, Ignore, Objective, Smiles, SplitColumn, Target, asked_for

data_app = typer.Typer(help="Data sets: list, check, prepare, draw, export, make up.", no_args_is_help=True)


@data_app.command("list")
def list_sets(
    everything: Annotated[bool, typer.Option("--all", help="Also the sets that are not in the paper.")] = False,
) -> None:
    """Show the data sets with their sizes and whether they are prepared.

    Example: mshgnn data list
    """
    from rich.console import Console
    from rich.table import Table

    from mshgnn.data.catalogue import CATALOGUE, GENERATED
    from mshgnn.data.sources.store import data_root, prepared_folder

    table = Table("name", "task", *("graphs", "nodes", "edges", "features", "classes"), "metric", "prepared")
    for column in table.columns[2:7]:
        column.justify = "right"
    root, others = data_root(), []
    for entry in CATALOGUE.values():
        figures = entry.expected
        if figures is None:
            others.append(entry)
            continue
        graphs = figures.items if entry.task == "graph" else 1
        generated = entry.family in GENERATED
        state = "generated" if generated else "yes" if prepared_folder(root, entry.name).exists() else "no"
        table.add_row(
            entry.name,
            entry.task,
            f"{graphs:,}",
            *(_number(value) for value in (figures.nodes, figures.edges, figures.features, figures.classes)),
            entry.metric,
            state,
        )
    if everything:
        for entry in others:
            state = "yes" if prepared_folder(root, entry.name).exists() else "no"
            table.add_row(entry.name, entry.task, *["?"] * 5, entry.metric, state)
    console = Console(width=None if Console().is_terminal else 120)
    console.print(table)
    print("Graph tasks: nodes and edges are averages over graphs. Edges are undirected.")
    if not everything:
        print(f"{len(others)} more sets load by name: mshgnn data list --all")
    print(f"Prepared data is kept in {root}")


@data_app.command()
def info(
    name: Annotated[str, typer.Argument(help="A name of 'mshgnn data list', or a path to data of your own.")],
    target: Target = None,
    objective: Objective = None,
    smiles_column: Smiles = None,
    id_column: IdColumn = None,
    split_column: SplitColumn = None,
    ignore: Ignore = None,
    directed: Directed = None,
) -> None:
    """Check a data set on disk against what is expected of its files and what the paper's table states.

    Example: mshgnn data info NCI1

    Example: mshgnn data info molecules.csv --target solubility
    """
    from rich.console import Console
    from rich.table import Table

    from mshgnn.data import load_any, load_splits
    from mshgnn.data.catalogue import find
    from mshgnn.data.sizes import compare, measured_rows, self_loops_in_files, target_lines

    dataset = load_any(name, asked_for(name, locals()))
    rows = compare(dataset) if dataset.catalogued else measured_rows(dataset)
    shown = ("on disk", "expected", "paper", "") if dataset.catalogued else ("on disk",)
    table = Table("", *shown, title=dataset.name, title_justify="left")
    for row in rows:
        cells = [_number(value) for value in row[1:]]
        table.add_row(row.figure, *((*cells, row.remark) if dataset.catalogued else cells[:1]))
    Console(width=None if Console().is_terminal else 100).print(table)
    targets = ", ".join(dataset.target_names[:6]) + ("..." if len(dataset.target_names) > 6 else "")
    print(
        f"task: {dataset.task}, {dataset.objective}{f' ({targets})' if targets else ''}, metric: {dataset.metric}, ",
        end="",
    )
    print(f"edge features: {dataset.edge_dim}")
    if not dataset.catalogued:
        for line in target_lines(dataset):
            print(f"  {line}")
    loops = self_loops_in_files(find(dataset.name)) if dataset.catalogued else 0
    if loops:
        print(f"self-loops: {loops:,} in the files, counted above as edges, left out when loaded (as PyG does)")
    splits = load_splits(dataset)
    parts = " / ".join(f"{len(part):,}" for part in splits.folds[0])
    print(f"splits: {splits.source}, {len(splits.folds)} fold(s), first: {parts} (train / validation / test)")
    print(f"checksum: {dataset.checksum}")
    if any(row.expected is not None and row.expected != row.on_disk for row in rows):
        raise typer.Exit(1)


@data_app.command()
def fetch(names: Annotated[list[str], typer.Argument(help="Names, or 'all' for the thirteen of the paper.")]) -> None:
    """Download (or take from MSHGNN_MIRROR) and prepare data sets, so that later runs need no network.

    Example: mshgnn data fetch MUTAG IMDB-BINARY
    """
    from mshgnn.data import load
    from mshgnn.data.catalogue import PAPER_SETS, find

    wanted = [
        entry for name in names for entry in (map(find, PAPER_SETS) if name.casefold() == "all" else [find(name)])
    ]  # every name is checked before the first download
    for entry in wanted:
        dataset = load(entry.name)
        count = f"{dataset.num_items:,} {'graphs' if dataset.task == 'graph' else 'nodes'}"
        print(f"{entry.name}: {count}, checksum {dataset.checksum[:16]}")


@data_app.command()
def export(
    name: Annotated[str, typer.Argument(help="A set of 'mshgnn data list' whose nodes have targets.")],
    folder: Annotated[Path, typer.Argument(help="Where nodes.csv, edges.csv and splits.json go.")],
    splits: Annotated[str, typer.Option(help="Which splits, as experiments name them.")] = "default",
    fold: Annotated[int, typer.Option(min=0, help="The fold in the column 'split'; splits.json has all.")] = 0,
    features: Annotated[str, typer.Option(help="default, constant, degree or scaled.")] = "default",
    largest_component: Annotated[bool, typer.Option(help="Only the largest connected component.")] = False,
) -> None:
    """Write a data set by its name as the tables that 'mshgnn train' reads, with the lab's own splits.

    Example: mshgnn data export Tolokers tolokers/
    """
    from mshgnn.data import DataError, load, load_splits
    from mshgnn.data.export import export_nodes
    from mshgnn.files import written
    from mshgnn.predictor.splitting import splits_json

    dataset = load(name, features=features, largest_component=largest_component)
    found = load_splits(dataset, splits)
    if fold >= len(found.folds):
        raise DataError(f"--fold {fold}: {dataset.name} has {len(found.folds)} folds, counted from 0")
    if (folder / "splits.json").exists():
        raise DataError(f"{folder / 'splits.json'}: is there already; choose another folder")
    wrote = export_nodes(dataset, found.folds[fold], folder)
    with written(folder / "splits.json") as file:
        file.write(splits_json(found.folds, range(dataset.num_items)).encode())
    print(f"wrote {folder}: {wrote.nodes:,} nodes with {wrote.features} features, {wrote.edges:,} edges")
    print(f"splits: {found.source}, fold {fold} of {len(found.folds)} in the column, all of them in splits.json")
    options = [f"--metric {dataset.metric}", *(f"--target {target}" for target in wrote.target_names)]
    options += ["--directed"] if wrote.directed else []
    print(f"train on all folds: mshgnn train {folder} {' '.join(options)} --split-file {folder / 'splits.json'}")


@data_app.command()
def example(
    kind: Annotated[str, typer.Argument(help="molecules, nodes or graphs.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Default: molecules.csv, network/ or graphs.jsonl.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many molecules, nodes or graphs.")] = 300,
    seed: Annotated[int, typer.Option(help="Another seed, other rows by the same rule.")] = 0,
) -> None:
    """Write a small made-up data set to try the commands on: a table of SMILES, nodes.csv and edges.csv, or a .jsonl.

    Example: mshgnn data example molecules --out molecules.csv
    """
    from mshgnn.data.example_sets import write_example

    path = write_example(kind, out, rows, seed)
    print(f"wrote {path}: {rows:,} {kind}, made up by rule, not measured")


@data_app.command()
def plot(
    name: Annotated[str, typer.Argument(help="A name of 'mshgnn data list', or a path to data of your own.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Picture file: .png, .svg or .pdf.")] = None,
    target: Target = None,
    objective: Objective = None,
    smiles_column: Smiles = None,
    id_column: IdColumn = None,
    split_column: SplitColumn = None,
    ignore: Ignore = None,
    directed: Directed = None,
) -> None:
    """Draw one graph of each class, histograms of numbers, or shares of 0 and 1 and of classes of nodes.

    Example: mshgnn data plot structure-frequency -o classes.png

    Example: mshgnn data plot molecules.csv --target solubility -o values.png
    """
    from mshgnn.data import load_any
    from mshgnn.data.plots import plot as draw

    named = "structure-frequency-fixed" if name.casefold() == "structure-frequency" else name
    dataset = load_any(named, asked_for(named, locals()))
    path = out or Path(f"{dataset.name}.png")
    cut = draw(dataset, path)
    print(f"wrote {path}" + (f": {cut}" if cut else ""))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
