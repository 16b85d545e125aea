"""``mshgnn bench``: speed and memory against PyG's layers, and growth with the size of the graph."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mshgnn.cli.large_pages import ask_for_large_pages
from mshgnn.errors import UserError

bench_app = typer.Typer(help="Benchmarks: every figure is a ratio measured in one run.", invoke_without_command=True)


class Freed(StrEnum):
    """What malloc does with freed memory."""

    kept = "kept"
    returned = "returned"


@bench_app.callback()
def compare(
    context: typer.Context,
    shape: Annotated[
        list[str] | None, typer.Option(help="Physics, COLLAB, molecules or 'ten nodes'; all by default.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Samples of every contender, taken in turn.")] = 9,
    memory: Annotated[bool, typer.Option(help="Measure peak memory in the first run, too, case by case.")] = True,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="Threads of torch; 1 and 2 by default.")] = None,
    freed: Annotated[
        list[Freed] | None, typer.Option(help="Keep freed memory, as mshgnn run does, or return it; both by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the JSON files, one per run, and of the picture.")] = Path(
        "results/bench"
    ),
) -> None:
    """Compare MSHConv with its full generator and with PyG's layers at the same width.

    Every number of threads and both ways with freed memory are a run of their own, in a process of its own.

    Example: mshgnn bench --shape molecules --rounds 5 --threads 1 --freed kept
    """
    if context.invoked_subcommand is not None:
        return
    from mshgnn.benchmarks.compare import Comparison, measure_apart
    from mshgnn.benchmarks.contenders import OURS
    from mshgnn.benchmarks.picture import places, title
    from mshgnn.benchmarks.shapes import SIZES, check_shape
    from mshgnn.files import check_writable
    from mshgnn.report.named_points import draw_named_points

    check_writable(out / "kept-1.json")
    for name in shape or ():
        check_shape(name)
    runs: list[dict[str, Any]] = []
    for kind in freed or list(Freed):
        for count in threads or (1, 2):
            # Memory is a matter of the layer: once will do.
            wanted = Comparison(tuple(shape or SIZES), rounds, memory and not runs, count, kind == Freed.kept)
            print(f"{count} thread{'s' if count > 1 else ''}, freed memory {kind}")
            results = measure_apart(wanted)
            _print_comparison(results)
            _write(results, out / f"{kind}-{count}.json")
            runs.append(results)
    if panels := places(runs[0]):
        axes = {"x": "peak memory, MB", "y": "training step, ms"}
        picture = out / "time-and-memory.png"
        print(f"plot: {draw_named_points(panels, picture, title=title(runs[0]), **axes, ours=OURS)}")


@bench_app.command()
def scale(
    largest: Annotated[float, typer.Option(help="Stop at so many directed edges.")] = 1.2e8,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each size; the fastest counts.")] = 3,
    threads: Annotated[int, typer.Option(min=0, help="Threads of torch; 0 keeps its own choice.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the JSON goes; the plot goes beside it.")] = Path(
        "results/bench-scale.json"
    ),
) -> None:
    """Measure a full-batch training step from 10^5 to 1.2 x 10^8 directed edges (needs 20 GB at the top).

    Example: mshgnn bench scale --largest 1e7
    """
    ask_for_large_pages()
    import torch

    from mshgnn.benchmarks.scale import EDGES, plot
    from mshgnn.benchmarks.scale import scale as measure
    from mshgnn.files import check_writable

    check_writable(out)
    sizes = [size for size in EDGES if size <= largest]
    if not sizes:
        raise UserError(f"largest must be at least {EDGES[0]:,} edges, got {largest:,.0f}")
    results = measure(sizes, steps, threads or torch.get_num_threads(), print)
    for key, text in (
        ("exponent", "power-law graph"),
        ("local_exponent", "the same work, senders in the cache"),
        ("kept_exponent", "the same work, freed memory kept"),
    ):
        if results[key] is not None:
            print(f"growth of the step with the edges, from 10^6, {text}: exponent {results[key]:.3f}")
    _write(results, out)
    picture = out.with_suffix(".png")
    plot(results, str(picture))
    print(f"plot: {picture}")


@bench_app.command()
def huge(
    folder: Annotated[Path, typer.Argument(help="Where the graph is made, or lies already.")],
    edges: Annotated[float, typer.Option(help="Directed edges.")] = 1.2e8,
    features: Annotated[int, typer.Option(min=1, help="Features per node; 1000 are 9.6 GB.")] = 100,
    memory: Annotated[str, typer.Option(help="The limit that is kept.")] = "8G",
    steps: Annotated[int, typer.Option(min=0, help="Training steps measured; 0 is a whole epoch.")] = 20,
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Where the JSON goes; results/scale/huge-EDGES.json.")] = None,
) -> None:
    """Measure steps, epochs and a full inference on one graph that stays on the disk, within a limit of memory.

    Example: mshgnn bench huge graph/ --edges 1e6 --memory 1G
    """
    ask_for_large_pages()
    from mshgnn.benchmarks.huge import huge as measure
    from mshgnn.benchmarks.scale import FEATURES
    from mshgnn.files import check_writable

    count = _whole(edges, "--edges", 1000)
    name = f"huge-{count}" if features == FEATURES else f"huge-{count}-{features}"
    path = out or Path(f"results/scale/{name}.json")
    check_writable(path)
    _write(measure(folder, count, features, memory, steps, threads, print), path)


@bench_app.command()
def whole(
    edges: Annotated[list[float] | None, typer.Option(help="Directed edges; 10^5, 10^6 and 10^7 if none.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    out: Annotated[Path, typer.Option(help="Where the JSON goes.")] = Path("results/scale/whole.json"),
) -> None:
    """Measure steps on whole graphs beside the memory and seconds that are said beforehand.

    Example: mshgnn bench whole --edges 1e5 --edges 1e6
    """
    from mshgnn.benchmarks.huge import full
    from mshgnn.files import check_writable

    sizes = [_whole(size, "--edges", 1000) for size in edges or (1e5, 1e6, 1e7)]
    check_writable(out)
    _write(full(sizes, threads, print), out)


@bench_app.command()
def million(
    source: Annotated[Path, typer.Argument(help="A table of molecules with a column smiles.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Its target of 0 and 1.")] = "HIV_active",
    rows: Annotated[list[float] | None, typer.Option(help="Rows; 10^4, 10^5 and 10^6 if none.")] = None,
    folder: Annotated[Path, typer.Option(help="Where tables and arrays are made.")] = Path("million"),
    out: Annotated[Path, typer.Option(help="Where the JSON goes.")] = Path("results/scale/million.json"),
) -> None:
    """Measure predicting and one epoch of training on a table whose rows are repeated, and the memory of both.

    Example: mshgnn bench million HIV.csv.gz --rows 1e4 --rows 1e6
    """
    from mshgnn.benchmarks.million import million as measure
    from mshgnn.files import check_writable

    sizes = [_whole(count, "--rows", 10) for count in rows or (1e4, 1e5, 1e6)]
    check_writable(out)
    _write(measure(source, target, sizes, folder, print), out)


@bench_app.command()
def harness(
    dataset: Annotated[str, typer.Option(help="A set of graphs.")] = "MUTAG",
    models: Annotated[
        list[str] | None, typer.Option("--model", help="Models; gcn, gin and msh-stable if none.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the JSON goes.")] = Path("results/bench-harness.json"),
) -> None:
    """Measure what the lab's training loop adds to pure training steps, in processor time on one thread.

    Example: mshgnn bench harness --dataset PROTEINS --model gin
    """
    from mshgnn.benchmarks.overhead import harness_overhead
    from mshgnn.files import check_writable
    from mshgnn.lab.experiment import check_experiment
    from mshgnn.lab.setup import build_model, load_data

    check_writable(out)
    found: dict[str, Any] = {}
    for model in models or ("gcn", "gin", "msh-stable"):
        described = {"name": "harness", "dataset": {"name": dataset}, "model": {"name": model}}
        experiment = check_experiment(described, "mshgnn bench harness")
        data = load_data(experiment)
        overhead = harness_overhead(build_model(experiment, data.dataset), data.dataset, data.splits.folds[0])
        found[model] = {"ratio": overhead.ratio, "with_evaluation": overhead.evaluation_ratio}
        print(f"{model}: {overhead.ratio:.3f} of pure training steps, {overhead.evaluation_ratio:.3f} with evaluation")
    _write({"dataset": dataset, "models": found}, out)


@bench_app.command()
def workers(
    counts: Annotated[
        list[int] | None,
        typer.Option("--workers", min=1, max=64, help="Processes; 1 and 2 by default, the first compares."),
    ] = None,
    graphs: Annotated[int, typer.Option(min=64, help="Made-up molecules to train on.")] = 2048,
    batch_size: Annotated[int, typer.Option(min=1, help="Graphs of a step, shared among all workers.")] = 128,
    epochs: Annotated[int, typer.Option(min=1, help="Measured epochs; their median counts.")] = 3,
    out: Annotated[Path, typer.Option(help="Where the JSON goes.")] = Path("results/bench-workers.json"),
) -> None:
    """Measure one training by several workers: seconds, meetings and bytes sent.

    Example: mshgnn bench workers --workers 1 --workers 2 --graphs 1024
    """
    from mshgnn.benchmarks.workers import compare as measure
    from mshgnn.files import check_writable

    check_writable(out)
    _write(measure(counts or [1, 2], graphs, batch_size, epochs, print), out)


def _whole(number: float, option: str, least: int) -> int:
    """A count that may be given as 1e6."""
    if not least <= number <= 1e11:  # nor is it no number
        raise UserError(f"{option} must be from {least:,} to 1e11, got {number:g}")
    return int(number)


def _write(results: dict[str, Any], out: Path) -> None:
    import json

    from mshgnn.files import written

    with written(out) as file:
        file.write((json.dumps(results, indent=1) + "\n").encode())
    print(f"written: {out}")


def _print_comparison(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 130)
    for name, shape in results["shapes"].items():
        title = f"{name}: {shape['nodes']:,} nodes, {shape['edges']:,} edges ({shape['source']})"
        table = Table("", "forward ms", "ours / it", "training ms", "ours / it", "peak MB", title=title)
        for column in table.columns[1:]:
            column.justify = "right"
        for contender, row in shape["contenders"].items():
            cells = []
            for kind in ("forward", "training"):
                times, ratio = row[kind]["seconds"], row[kind]["ours_over_it"]
                cells.append(f"{1e3 * times['middle']:.2f}")
                cells.append(f"{ratio['middle']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]")
            peak = f"{row['peak_bytes'] / 2**20:,.0f}" if "peak_bytes" in row else ""
            table.add_row(contender, *cells, peak)
        console.print(table)
        bound = shape["bound"]
        print(
            f"products at {bound['sgemm_flops_per_second']['middle'] / 1e9:.0f} GFLOP/s, copies at "
            f"{bound['copy_bytes_per_second']['middle'] / 1e9:.1f} GB/s; "
            f"forward over its physical bound: {bound['forward_over_bound']['middle']:.2f}"
        )
    table = Table("goal", "measured", "at most", "met")
    for goal in results["goals"]:
        table.add_row(goal["text"], f"{goal['measured']:.3f}", f"{goal['bound']:g}", "yes" if goal["met"] else "NO")
    console.print(table)
