"""The tables of docs/scale.md and docs/parallel.md: what was measured, and what follows from it by a stated rule."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import SETS
from mshgnn.reproduction.results import Results

NOTHING = "–"
BATCHINGS = ("full", "neighbours", "partitions")
CORE_SHARE = 0.7
"""What each further core adds, of what the first does: their caches are their own, their memory is shared."""
MACHINE_SHARE = 0.8
"""What each further machine adds: the rest of a step is waiting for gradients."""
GPU_BYTES, GPU_FLOPS, GPU_BUS = 1e12, 1e13, 2.5e10
"""What a current graphics card moves, computes and is brought from the machine in a second; not measured."""


class Graph(NamedTuple):
    """The size of a graph that was not measured."""

    title: str
    nodes: float
    edges: float
    training_nodes: float


PRODUCTS = Graph("ogbn-products", 2.4e6, 1.2e8, 1.97e5)
PAPERS = Graph("ogbn-papers100M", 1.1e8, 1.6e9, 1.2e6)
TARGETS = 1024
"""Training nodes of a sampled step ..."""
SAMPLED = TARGETS * (10 + 100 + 1000)
"""... and the nodes and edges that three hops of ten reach from them, at most."""
MOLECULES, ATOMS, BONDS = 1e8, 25.5, 55.0
"""A molecule of HIV has so many atoms and directed bonds on average."""


def _cores(count: int) -> float:
    """How many times as fast as one core they are."""
    return 1 + CORE_SHARE * (count - 1)


MACHINES = {
    "2 cores": _cores(2),
    "32 cores": _cores(32),
    "128 cores": _cores(128),
    "16 machines of 32 cores": _cores(32) * (1 + 15 * MACHINE_SHARE),
}
"""How many times as fast as one core."""


def accuracy(results: Results) -> str:
    """Each way to batch beside the whole graph: test metric with its standard error, seconds and memory of a fold."""
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in results.scale):
        for batching in BATCHINGS:
            record = results.scale.get((dataset, batching))
            if record is None:
                rows.append([f"{SETS.get(dataset, dataset)}, {batching}", *[NOTHING] * 4])
                continue
            found, folds = record.rules[HEADLINE], len(record.run.results)
            error = 100 * found.std / sqrt(max(folds - 1, 1))
            rows.append(
                [
                    f"{SETS.get(dataset, dataset)}, {batching}",
                    f"{100 * found.mean:.2f} ± {error:.2f}",
                    str(folds),
                    f"{record.seconds / folds:.0f}",
                    f"{record.peak_memory_mb:,.0f}",
                ]
            )
    return markdown(["", "test accuracy, %, ± standard error", "seeds", "seconds per seed", "peak memory, MB"], rows)


def whole(results: Results) -> str:
    """Steps on whole graphs beside what was said of them."""
    rows = [
        [
            f"{row['edges']:,}",
            f"{row['nodes']:,}",
            f"{row['step_seconds']:.3g}",
            f"{row['said_seconds']:.3g}",
            f"{row['peak_bytes'] / 1e9:.3g}",
            f"{row['said_bytes'] / 1e9:.3g}",
        ]
        for row in _rows(results, "scale/whole")
    ]
    return markdown(["edges", "nodes", "step, s", "said", "memory, GB", "said"], rows)


def huge(results: Results) -> str:
    """Work on graphs that stay on the disk."""
    header = ["edges", "features", "work", "seconds", "memory, GB", "limit", "on disk, GB"]
    texts = {
        "open": ("checked, and sorted the first time", "opened_seconds"),
        "neighbours": ("a step of 1,024 targets with sampled neighbours", "step_seconds"),
        "partitions": ("a step of 8,192 nodes in partitions", "step_seconds"),
        "inference": ("exact inference of all nodes", "inference_seconds"),
    }
    rows = []
    for name in sorted(results.measurements):
        if name.startswith("scale/huge-"):
            for row in _rows(results, name):
                text, key = texts[row["kind"]]
                memory, disk = row["peak_bytes"] / 1e9, row["bytes_on_disk"] / 1e9
                limit, size = results.measurements[name]["memory"], [f"{row['edges']:,}", str(row["features"])]
                rows.append([*size, text, f"{row[key]:.3g}", f"{memory:.2f}", limit, f"{disk:.2f}"])
                if "epoch_seconds" in row:
                    taken, whole = row["steps"], row["steps_per_epoch"]
                    of_mean = "" if taken == whole else f", by the mean of {taken:,}"
                    epoch = f"{row['epoch_seconds']:,.0f}"
                    rows.append([*size, f"an epoch of {whole:,} such steps{of_mean}", epoch, *[""] * 3])
    return markdown(header, rows)


def million(results: Results) -> str:
    """Tables of molecules of growing length."""
    rows = []
    for row in _rows(results, "scale/million"):
        seconds = row.get("predict_seconds") or row["packed_seconds"] + row["epoch_seconds"]
        text = {"predict": "predicted", "train": "read, and trained on for one epoch"}[row["kind"]]
        rows.append([f"{row['rows']:,}", text, f"{seconds:,.0f}", f"{row['peak_bytes'] / 1e9:.2f}"])
    return markdown(["rows", "work", "seconds", "memory, GB"], rows)


def workers(results: Results) -> str:
    """Trainings by several processes: time, and what each sends per step."""
    rows = []
    for name in sorted(name for name in results.measurements if name.startswith("bench-workers")):
        task = results.measurements[name]["task"]
        for row in _rows(results, name):
            milliseconds = 1e3 * row["epoch_seconds"] / -(-task["graphs"] // task["batch_size"])
            bytes_sent = (
                row["sent_bytes_per_step"],
                row["gradient_bytes_per_step"],
                row["loopback_bytes_per_step_and_worker"],
            )
            rows.append(
                [
                    str(task["batch_size"]),
                    str(row["workers"]),
                    f"{milliseconds:.0f}",
                    f"{row['speed_up']:.2f}",
                    f"{row['meetings_per_step']:.0f}",
                    *(f"{sent / 1e3:,.0f}" for sent in bytes_sent),
                ]
            )
    times = ["graphs per step", "workers", "step, ms", "times as fast"]
    counts = ["meetings per step", "sent by each, kB per step", "of these gradients", "carried by the loopback"]
    return markdown([*times, *counts], rows)


def costs(results: Results) -> str:
    """Bytes and operations on paper, of the benchmarks' three layers."""
    from mshgnn.nn.cost import EDGE_BYTES  # with torch, which no record needs

    sizes = _sizes()
    rows = [
        ["kept for the gradient, bytes", f"{4 * sizes.kept:,.0f}", "0"],
        ["the batch's copy and order, bytes", f"{4 * sizes.in_channels:,}", f"{EDGE_BYTES}"],
        ["fetched forward, bytes", f"{4 * sizes.layers * sizes.table:,}", f"{sizes.edge_bytes_read:,.0f}"],
        ["operations forward", f"{sizes.node_flops:,.0f}", f"{sizes.edge_flops:,.0f}"],
    ]
    return markdown(["", "per node", "per edge"], rows)


def steps(results: Results) -> str:
    """A step on whole graphs that were not measured, on paper."""
    from mshgnn.nn.cost import step_bytes, step_flops  # with torch, which no record needs

    rows = []
    for graph in (PRODUCTS, PAPERS):
        size = int(graph.nodes), int(graph.edges)
        memory, flops = step_bytes(_sizes(), *size) / 1e9, step_flops(_sizes(), *size) / 1e12
        rows.append([graph.title, f"{graph.nodes:.1e}", f"{graph.edges:.1e}", f"{memory:,.0f}", f"{flops:,.1f}"])
    return markdown(["a step on the whole graph", "nodes", "edges", "memory, GB", "operations, 10^12"], rows)


def machines(results: Results) -> str:
    """What larger machines would take, from the measured seconds of one core and the shares above."""
    fitted = rates(results)
    sampled, inferred = _on_the_disk(results, "neighbours"), _on_the_disk(results, "inference")
    molecule = _seconds_per_molecule(results)
    rows = []
    for title, speed in MACHINES.items():
        rows.append(
            [
                title,
                _seconds(fitted and (fitted[0] * PRODUCTS.nodes + fitted[1] * PRODUCTS.edges) / speed),
                _seconds(sampled["step_seconds"] * PAPERS.training_nodes / TARGETS / speed if sampled else None),
                _seconds(
                    inferred["inference_seconds"] * PAPERS.edges / inferred["edges"] / speed if inferred else None
                ),
                _seconds(molecule and molecule * MOLECULES / speed),
            ]
        )
    rows.append(["one graphics card, on paper", *map(_seconds, _on_a_card())])
    header = [
        "",
        "ogbn-products: a step on the whole graph",
        "ogbn-papers100M: an epoch of sampled steps",
        "ogbn-papers100M: exact inference",
        "10^8 molecules: an epoch",
    ]
    return markdown(header, rows)


def _on_a_card() -> list[float]:
    """The same work on a graphics card: what it moves and computes, and what must be brought to it."""
    from mshgnn.nn.cost import BACKWARD, FLOAT  # with torch, which no record needs

    sizes, step = _sizes(), 1 + BACKWARD

    def seconds(passes: int, nodes: float, edges: float, brought: float) -> float:
        moved = FLOAT * nodes * sizes.kept + edges * sizes.edge_bytes_read
        operations = nodes * sizes.node_flops + edges * sizes.edge_flops
        return passes * (moved / GPU_BYTES + operations / GPU_FLOPS) + FLOAT * brought / GPU_BUS

    of_sample = seconds(step, SAMPLED, SAMPLED, SAMPLED * sizes.in_channels)
    states = PAPERS.edges * sizes.layers * sizes.width  # a sender's, brought for every edge
    return [
        seconds(step, PRODUCTS.nodes, PRODUCTS.edges, 0),
        of_sample * PAPERS.training_nodes / TARGETS,
        seconds(1, PAPERS.nodes, PAPERS.edges, PAPERS.nodes * sizes.in_channels + states),
        MOLECULES * seconds(step, ATOMS, BONDS, ATOMS * sizes.in_channels),
    ]


def rates(results: Results) -> tuple[float, float] | None:
    """Seconds of a step per node and per edge on one core: least squares of the relative errors, neither negative."""
    rows = [row for row in _rows(results, "scale/whole") if row["threads"] == 1]
    if len(rows) < 2:
        return None
    sizes = np.array([[row["nodes"], row["edges"]] for row in rows]) / np.array([[row["step_seconds"]] for row in rows])
    per_node, per_edge = np.linalg.lstsq(sizes, np.ones(len(rows)), rcond=None)[0]
    return max(float(per_node), 0.0), max(float(per_edge), 0.0)


def _on_the_disk(results: Results, kind: str) -> dict[str, float] | None:
    """One kind of work on the largest graph measured, its seconds those of one core."""
    rows = [
        row
        for name in sorted(results.measurements)  # of equally many edges those with fewest features
        if name.startswith("scale/huge-")
        for row in _rows(results, name)
        if row["kind"] == kind
    ]
    if not rows:
        return None
    largest = max(rows, key=lambda row: row["edges"])
    speed = _cores(largest["threads"])
    return {key: value * (speed if key.endswith("_seconds") else 1) for key, value in largest.items() if key != "kind"}


def _seconds_per_molecule(results: Results) -> float | None:
    rows = [row for row in _rows(results, "scale/million") if row["kind"] == "train"]
    if not rows:
        return None
    largest = max(rows, key=lambda row: row["rows"])
    return float(largest["epoch_seconds"] / largest["molecules"])


def _rows(results: Results, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = results.measurements.get(name, {}).get("rows", [])
    return rows


def _sizes() -> Any:
    """The model of the benchmarks."""
    from mshgnn.benchmarks.scale import make_model
    from mshgnn.nn.cost import sizes_of

    return sizes_of(make_model())


def _seconds(value: float | None) -> str:
    """A time as a reader wants it, to two digits."""
    if value is None:
        return NOTHING
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if value >= 2 * size:
            return f"{_digits(value / size)} {unit}"
    return f"{_digits(value)} s"


def _digits(value: float) -> str:
    """Two digits that count, without an exponent."""
    return f"{float(f'{value:.2g}'):,.10g}"
