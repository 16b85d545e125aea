"""What several workers gain, and what they send each other: one training epoch by one, two, four processes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from subprocess import run
from typing import Any

import psutil
import torch
from torch_geometric.data import Data

from mshgnn.data import GraphDataset, Split, from_graphs
from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.training.loop import make_optimiser, train_epoch
from mshgnn.training.parallel import Workers, join
from mshgnn.training.parts import prepare
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings

NODES, RINGS = 24, 2
"""A made-up molecule: a chain of so many nodes, closed to rings at so many places."""
FEATURES, MODEL = 16, "msh-stable"


def molecules(count: int) -> GraphDataset:
    """Chains of about ``NODES`` nodes with ``RINGS`` rings, edges both ways, two classes."""
    generator = torch.Generator().manual_seed(0)
    made = []
    for number in range(count):
        nodes = NODES - 4 + number % 9
        chain = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
        ends = torch.randint(nodes - 5, (RINGS,), generator=generator)
        half = torch.cat([chain, torch.stack([ends, ends + 5])], dim=1)
        x = torch.randn(nodes, FEATURES, generator=generator)
        made.append(Data(x=x, edge_index=torch.cat([half, half.flip(0)], dim=1), y=torch.tensor([number % 2])))
    return from_graphs(made, name="molecules")


def measure_here(graphs: int, batch_size: int, epochs: int) -> dict[str, Any] | None:
    """Epochs of this process, alone or among the workers that were started with it; the first has the figures."""
    with join() as workers, one_thread(0):
        dataset = molecules(graphs + 2)
        split = Split(*torch.arange(graphs + 2).tensor_split((graphs, graphs + 1)))
        settings = TrainingSettings(batch_size=batch_size)
        model = build(MODEL, FEATURES, 2, task="graph")
        fold = prepare(dataset, split, settings, workers=workers)
        optimiser, generator = make_optimiser(model, settings), torch.Generator().manual_seed(0)
        train_epoch(model, fold, optimiser, settings, generator, None, workers)  # compiles, allocates, connects
        met, sent, passed = workers.traffic.meetings, workers.traffic.sent_bytes, _loopback_bytes()
        seconds = []
        for _ in range(epochs):
            started = time.perf_counter()
            train_epoch(model, fold, optimiser, settings, generator, None, workers)
            seconds.append(time.perf_counter() - started)
        steps = epochs * -(-graphs // batch_size)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        figures = {
            "workers": workers.size,
            "load_average": os.getloadavg()[0],
            "epoch_seconds": median(seconds),
            "all_epoch_seconds": seconds,
            "graphs_per_second": graphs / median(seconds),
            "parameters": parameters,
            "meetings_per_step": (workers.traffic.meetings - met) / steps,
            "sent_bytes_per_step": (workers.traffic.sent_bytes - sent) / steps,
            "gradient_bytes_per_step": _ring(workers) * 4 * parameters,
            "loopback_bytes_per_step_and_worker": (_loopback_bytes() - passed) / steps / workers.size,
        }
        return figures if workers.is_first else None


def _ring(workers: Workers) -> float:
    """How often a worker of a ring sends what is summed."""
    return 2 * (workers.size - 1) / workers.size


def _loopback_bytes() -> int:
    """What has gone over this machine's loopback, by anyone, headers included; 0 where it is not told."""
    counters = psutil.net_io_counters(pernic=True).get("lo")
    return 0 if counters is None else int(counters.bytes_sent)


def measure(workers: int, graphs: int, batch_size: int, epochs: int) -> dict[str, Any]:
    """:func:`measure_here` by so many new processes."""
    start = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"] if workers > 1 else []
    command = [sys.executable, *start, "-m", "mshgnn.benchmarks.workers", str(graphs), str(batch_size), str(epochs)]
    done = run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise UserError(f"{workers} workers failed: {last[0]}")
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def compare(
    counts: Sequence[int], graphs: int, batch_size: int, epochs: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Every number of workers on the same graphs and batches; the first is what the others are compared with."""
    from mshgnn.benchmarks.compare import environment

    rows: list[dict[str, Any]] = []
    for count in counts:
        row = measure(count, graphs, batch_size, epochs)
        rows.append(row)
        row["speed_up"] = rows[0]["epoch_seconds"] / row["epoch_seconds"]
        say(
            f"{count} worker{'s' if count > 1 else ''}: {row['epoch_seconds']:.2f} s an epoch, "
            f"{row['graphs_per_second']:,.0f} graphs per second, {row['speed_up']:.2f} times the first; per step "
            f"{row['meetings_per_step']:.0f} meetings, {row['sent_bytes_per_step'] / 1e3:,.1f} kB sent by each"
        )
        if (load := row["load_average"]) > 1.5 * count:
            say(f"others work here, too (load {load:.1f}): the times say little, the counts are exact")
    described = {"graphs": graphs, "batch_size": batch_size, "epochs": epochs, "model": MODEL, "nodes": NODES}
    return {"environment": environment(), "task": described, "rows": rows}


if __name__ == "__main__":
    found = measure_here(*(int(argument) for argument in sys.argv[1:]))
    if found is not None:
        print(json.dumps(found))
