"""How a full-batch training step grows with the graph: time, memory, exponent."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from mshgnn.errors import UserError
from mshgnn.files import written

if TYPE_CHECKING:
    from mshgnn.nn import MSHGNN

# The top is the size of ogbn-products: 2.4 million nodes, 1.2 x 10^8 directed edges.
EDGES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 120_000_000)
EDGES_PER_NODE = 50
SKEW = 0.4  # a node's share of the edges falls with its rank to this power: the largest degree is 18,000 at the top
FEATURES, CLASSES, CHANNELS, PROJECTIONS, LAYERS = 100, 47, 64, 16, 3
FITTED = (10**6, 10**8)
KEPT_UP_TO = 30_000_000  # freed blocks that are kept take twice the memory: 30 GB at the top
Variant = Literal["plain", "local", "kept"]


def make_model(features: int = FEATURES) -> MSHGNN:
    """The model of all measurements on large graphs."""
    from mshgnn.nn import MSHGNN

    return MSHGNN(
        features, CLASSES, task="node", hidden_channels=CHANNELS, num_layers=LAYERS, num_projections=PROJECTIONS
    )


def warm_up(model: MSHGNN) -> None:
    """A step on a few nodes, which loads the kernels."""
    few = torch.randn(100, model.in_channels), power_law_graph(100, 1000)
    torch.autograd.backward(model(*few).sum())


def power_law_graph(num_nodes: int, num_edges: int, seed: int = 0) -> Tensor:
    """Edges in both directions between nodes drawn by a power of their rank, in random order: ``[2, num_edges]``."""
    half = num_edges // 2
    edge_index = torch.empty(2, 2 * half, dtype=torch.int32)  # half of what 64 bits take
    for begin, pairs in power_law_pairs(num_nodes, half, seed):
        edge_index[:, begin : begin + pairs.size(1)] = pairs
    edge_index[0, half:], edge_index[1, half:] = edge_index[1, :half], edge_index[0, :half]
    return edge_index


def power_law_pairs(num_nodes: int, num_pairs: int, seed: int = 0) -> Iterator[tuple[int, Tensor]]:
    """The edges of :func:`power_law_graph` in one direction, piece by piece, each with where it begins."""
    generator = torch.Generator().manual_seed(seed)
    names = torch.randperm(num_nodes, generator=generator)
    for begin in range(0, num_pairs, 2**22):
        size = min(2**22, num_pairs - begin)
        ranks = [
            torch.rand(size, generator=generator, dtype=torch.float64).pow_(1 / (1 - SKEW)) * num_nodes
            for _ in range(2)
        ]
        yield begin, torch.stack([names[rank.long().clamp_(max=num_nodes - 1)] for rank in ranks])


def run_one(num_edges: int, steps: int, threads: int, variant: Variant) -> dict[str, Any]:
    """Sort once, then ``steps`` training steps of a 3-layer MSHGNN on the whole graph; in this process.

    Two variants do the same arithmetic and show what bounds the plain one. ``local`` replaces every sender by a node
    near the receiver, so that its data is in the cache: the difference is what far memory costs. ``kept`` reuses freed
    blocks as ``mshgnn run`` does: the difference is what fresh pages cost.
    """
    from mshgnn.machine import keep_freed_blocks, peak_memory_bytes
    from mshgnn.ops import receiver_csr

    if variant == "kept":
        keep_freed_blocks()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    num_nodes = max(num_edges // EDGES_PER_NODE, 2)
    edge_index = power_law_graph(num_nodes, num_edges)
    if variant == "local":
        edge_index[0] = (edge_index[1] + edge_index[0] % 64) % num_nodes
    x = torch.randn(num_nodes, FEATURES)
    y = torch.randint(CLASSES, (num_nodes,))
    model = make_model()
    _recompute(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    warm_up(model)
    begin = time.perf_counter()
    receiver_csr(edge_index, num_nodes, num_nodes)
    sorting = time.perf_counter() - begin
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = cross_entropy(model(x, edge_index), y)
        torch.autograd.backward(loss)
        optimizer.step()
        times.append(time.perf_counter() - begin)
    degrees = torch.bincount(edge_index[1], minlength=num_nodes)
    return {
        "edges": edge_index.size(1),
        "nodes": num_nodes,
        "largest_degree": int(degrees.max()),
        "variant": variant,
        "sort_seconds": sorting,
        "step_seconds": min(times),
        "all_step_seconds": times,
        "peak_bytes": peak_memory_bytes(),
        "loss": float(loss.detach()),
    }


def _recompute(model: nn.Module) -> None:
    """Checkpoint encoder, messages, updates and head: their insides are computed again in the backward pass.

    Kept are 8 kB a node otherwise (measured), 19 GB at the top: twenty-eight arrays of the width of ``h`` and three of
    ``2KF``, most of them normalisation, update and dropout rather than the harmonic sum. Message and update of a layer
    are apart, so that the insides of one are there at a time.
    """

    def again(inside: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *inputs: checkpoint(inside, *inputs, use_reentrant=False)

    for layer in model.get_submodule("layers").children():
        for part in layer.children():
            part.forward = again(part.forward)
    model.encode = again(model.encode)  # type: ignore[assignment, arg-type]
    model.head.forward = again(model.head.forward)  # type: ignore[union-attr]


def measure_one(num_edges: int, steps: int, threads: int, variant: Variant = "plain") -> dict[str, Any]:
    """:func:`run_one` in a process of its own, so that its peak memory is its own."""
    arguments = [str(num_edges), str(steps), str(threads), variant]
    command = [sys.executable, "-m", "mshgnn.benchmarks.scale", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode} (killed: too little memory?)"]
        raise UserError(f"the step on {num_edges:,} edges failed: {last[0]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def exponent(rows: list[dict[str, Any]]) -> float | None:
    """The slope of log time over log edges, by least squares, on graphs of ``FITTED`` edges."""
    points = [
        (math.log(row["edges"]), math.log(row["step_seconds"]))
        for row in rows
        if FITTED[0] <= row["edges"] * 1.01 and row["edges"] <= 1.2 * FITTED[1]
    ]
    if len(points) < 2:
        return None
    mean_x = sum(p[0] for p in points) / len(points)
    mean_y = sum(p[1] for p in points) / len(points)
    return sum((a - mean_x) * (b - mean_y) for a, b in points) / sum((a - mean_x) ** 2 for a, _ in points)


def scale(sizes: list[int], steps: int, threads: int, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Measure every variant of every size; a single step above 10^8 edges."""
    from mshgnn.benchmarks.compare import environment

    rows: dict[Variant, list[dict[str, Any]]] = {variant: [] for variant in get_args(Variant)}
    for size in sizes:
        for variant, measured in rows.items():
            if variant == "kept" and size > KEPT_UP_TO:
                continue
            row = measure_one(size, steps if size < 10**8 else 1, threads, variant)
            measured.append(row)
            say(
                f"{row['edges']:>12,} edges {row['nodes']:>10,} nodes {variant:>6}  step {row['step_seconds']:8.3f} s  "
                f"sort {row['sort_seconds']:7.3f} s  peak {row['peak_bytes'] / 10**9:6.2f} GB"
            )
    return {
        "environment": environment(),
        "rows": rows["plain"],
        "local_rows": rows["local"],
        "kept_rows": rows["kept"],
        "exponent": exponent(rows["plain"]),
        "local_exponent": exponent(rows["local"]),
        "kept_exponent": exponent(rows["kept"]),
    }


def plot(results: dict[str, Any], path: str) -> None:
    """Time and memory over edges, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for key, label, style in (
        ("rows", "power-law graph", "o-"),
        ("local_rows", "same work, senders in the cache", "s--"),
        ("kept_rows", "same work, freed memory kept", "^:"),
    ):
        rows = results[key]
        edges = [row["edges"] for row in rows]
        left.loglog(edges, [row["step_seconds"] for row in rows], style, label=label)
    slope = results["exponent"]
    left.set(xlabel="directed edges", ylabel="training step (s)")
    left.set_title("exponent between 10$^6$ and 10$^8$: " + ("?" if slope is None else f"{slope:.2f}"))
    left.legend()
    rows = results["rows"]
    right.loglog([row["edges"] for row in rows], [row["peak_bytes"] / 2**30 for row in rows], "o-")
    right.set(xlabel="directed edges", ylabel="peak memory of the process (GB)")
    for axes in (left, right):
        axes.grid(True, which="both", alpha=0.3)
    figure.tight_layout()
    with written(Path(path)) as file:
        figure.savefig(file, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    edges, steps, threads = (int(argument) for argument in sys.argv[1:4])
    print(json.dumps(run_one(edges, steps, threads, cast("Variant", sys.argv[4]))))
