"""One huge graph that stays on the disk: sorting, a step, an epoch and a full inference within a limit of memory.

Each measurement is a process of its own, ``python -m mshgnn.benchmarks.huge KIND FOLDER ...``, so that its peak of
memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mshgnn.benchmarks.scale import (
    CLASSES,
    EDGES_PER_NODE,
    FEATURES,
    LAYERS,
    make_model,
    power_law_graph,
    power_law_pairs,
    warm_up,
)
from mshgnn.errors import UserError
from mshgnn.files import check_writable
from mshgnn.machine import (
    MEMORY_VARIABLE,
    keep_freed_blocks,
    peak_memory_bytes,
    reset_peak_memory,
    resident_memory_bytes,
    return_freed_blocks,
)

SHARES = (0.08, 0.016)  # of nodes that train and validate, those of ogbn-products
SEED = 0


def make_graph(folder: Path, num_edges: int, features: int = FEATURES) -> None:
    """Write a power-law graph as large as asked for, piece by piece; one of this size that is there is kept."""
    from mshgnn.data.mapped import MappedArray

    num_nodes, half = max(num_edges // EDGES_PER_NODE, 2), num_edges // 2
    if (folder / "y.npy").exists():
        found = tuple(MappedArray.open(folder / name).values.shape[1] for name in ("edge_index.npy", "x.npy"))
        if found == (2 * half, features):
            return
        raise UserError(f"{folder}: holds another graph, of {found[0]:,} edges and {found[1]:,} features")
    for name in ("edge_index.npy", "x.npy", "split.npy"):
        if (folder / name).exists():
            raise UserError(f"{folder / name}: is another's, or of a graph half made; move it, or name another folder")
    check_writable(folder / "y.npy")
    folder.mkdir(parents=True, exist_ok=True)
    edges = MappedArray.create(folder / "edge_index.npy", (2, 2 * half), np.int32)
    for begin, pairs in power_law_pairs(num_nodes, half):
        for place, both in ((begin, pairs), (half + begin, pairs.flip(0))):
            edges.values[:, place : place + pairs.size(1)] = both.numpy()
        edges.forget()
    random = np.random.default_rng(SEED)
    y = random.integers(CLASSES, size=num_nodes, dtype=np.int16)
    x = MappedArray.create(folder / "x.npy", (num_nodes, features), np.float32)
    for begin in range(0, num_nodes, 2**16):
        rows = x.values[begin : begin + 2**16]
        rows[:] = random.standard_normal(rows.shape, dtype=np.float32)
        rows[:, 0] += y[begin : begin + 2**16]
        x.forget()
    bounds = [round(share * num_nodes) for share in np.cumsum(SHARES)]
    np.save(folder / "split.npy", np.searchsorted(bounds, random.permutation(num_nodes), side="right").astype(np.int8))
    np.save(folder / "y.npy", y)


def measure(kind: str, folder: Path, steps: int, threads: int) -> dict[str, Any]:
    """One measurement in this process: seconds, and the peak of memory above that of the libraries."""
    from mshgnn.data import load_own
    from mshgnn.data.mapped import MappedArray

    torch.set_num_threads(threads)
    torch.manual_seed(SEED)
    model = make_model(MappedArray.open(folder / "x.npy").values.shape[1])
    warm_up(model)
    before = resident_memory_bytes()
    reset_peak_memory()
    begin = time.perf_counter()
    dataset = load_own(folder, objective="classify")
    found: dict[str, Any] = {"kind": kind, "threads": threads, "opened_seconds": time.perf_counter() - begin}
    if kind != "open":
        found |= _inference(model, dataset) if kind == "inference" else _steps(model, dataset, kind, steps)
    graph = dataset.graphs[0]
    sizes = {"nodes": int(graph.num_nodes), "edges": int(graph.edge_index.size(1)), "features": dataset.num_features}
    on_disk = sum(file.path.stat().st_size for file in graph["mapped"])
    return found | sizes | {"bytes_on_disk": on_disk, "peak_bytes": peak_memory_bytes() - before}


def _steps(model: torch.nn.Module, dataset: Any, batching: Any, steps: int) -> dict[str, Any]:
    """The seconds of preparing and of each step; all steps of an epoch where ``steps`` is 0."""
    from mshgnn.data import load_splits
    from mshgnn.training.loop import forward, make_optimiser
    from mshgnn.training.parts import prepare
    from mshgnn.training.settings import TrainingSettings

    split = load_splits(dataset).folds[0]
    nodes_per_step = 1024 if batching == "neighbours" else 8192
    settings = TrainingSettings(batching=batching, nodes_per_step=nodes_per_step)
    optimiser = make_optimiser(model, settings)
    begin = time.perf_counter()
    fold = prepare(dataset, split, settings, hops=LAYERS, seed=SEED)
    prepared, times = time.perf_counter() - begin, []
    model.train()
    begin = time.perf_counter()
    for batch, chosen, target, _ in fold.steps(torch.Generator().manual_seed(SEED)):
        optimiser.zero_grad(set_to_none=True)
        outputs = forward(model, batch)
        torch.autograd.backward(fold.loss(outputs if chosen is None else outputs[chosen], target))
        optimiser.step()
        times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        if len(times) == steps:
            break
    items = len(split.train) if batching == "neighbours" else dataset.num_items
    per_epoch = -(-items // nodes_per_step)
    mean = sum(times) / len(times)
    return {
        "prepared_seconds": prepared,
        "steps": len(times),
        "step_seconds": mean,
        "steps_per_epoch": per_epoch,
        "epoch_seconds": per_epoch * mean,
    }


def _inference(model: torch.nn.Module, dataset: Any) -> dict[str, Any]:
    from mshgnn.training.layerwise import LayerByLayer
    from mshgnn.training.node_store import NodeStore

    wanted = torch.arange(dataset.num_items)
    begin = time.perf_counter()
    LayerByLayer(NodeStore.of(dataset.graphs[0]), wanted, torch.device("cpu")).outputs(model.eval())
    return {"inference_seconds": time.perf_counter() - begin}


def full_step(measured: str, num_edges: int, per_node: int, threads: int) -> dict[str, Any]:
    """The ``seconds`` or the ``bytes`` of a step on a whole graph in memory, and what was said of them beforehand.

    Seconds are those of a process that keeps freed memory, as ``mshgnn train`` does. Bytes are those needed at once,
    which only a process that returns it shows.
    """
    from torch_geometric.data import Data

    from mshgnn.data import Split, from_graphs
    from mshgnn.training.forecast import step_seconds
    from mshgnn.training.loop import make_optimiser, train_epoch
    from mshgnn.training.parts import prepare
    from mshgnn.training.settings import TrainingSettings

    if measured == "bytes":
        return_freed_blocks()
    else:
        keep_freed_blocks()
    torch.set_num_threads(threads)
    torch.manual_seed(SEED)
    nodes = num_edges // per_node
    graph = Data(
        x=torch.randn(nodes, FEATURES), edge_index=power_law_graph(nodes, num_edges), y=torch.arange(nodes) % CLASSES
    )
    dataset = from_graphs([graph], task="node")
    model = make_model()
    warm_up(model)
    edges = int(graph.edge_index.size(1))
    said: dict[str, Any] = {"said_bytes": model.step_bytes(nodes, edges)}
    if measured == "seconds":
        said = {"said_seconds": step_seconds(model, nodes, edges, FEATURES)}
    settings = TrainingSettings()
    parts = torch.arange(nodes).tensor_split((nodes // 2, 3 * nodes // 4))
    before = resident_memory_bytes()
    reset_peak_memory()
    fold = prepare(dataset, Split(*parts), settings, hops=LAYERS, seed=SEED)
    optimiser, times = make_optimiser(model, settings), []
    for _ in range(3):
        begin = time.perf_counter()
        train_epoch(model, fold, optimiser, settings, torch.Generator())
        times.append(time.perf_counter() - begin)
    taken = {"step_seconds": min(times)} if measured == "seconds" else {"peak_bytes": peak_memory_bytes() - before}
    return {"kind": "full", "threads": threads, "nodes": nodes, "edges": edges, **said, **taken}


def apart(kind: str, *arguments: object, memory: str | None = None) -> dict[str, Any]:
    """A measurement in a process of its own, within ``memory``."""
    command = [sys.executable, "-m", "mshgnn.benchmarks.huge", kind, *map(str, arguments)]
    environment = {**os.environ, **({} if memory is None else {MEMORY_VARIABLE: memory})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode} (killed: too little memory?)"]
        raise UserError(f"{kind}: {last[0]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def huge(
    folder: Path, num_edges: int, features: int, memory: str, steps: int, threads: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """All measurements on one graph on the disk."""
    from mshgnn.benchmarks.compare import environment

    begin = time.perf_counter()
    make_graph(folder, num_edges, features)
    say(f"graph of {num_edges:,} edges in {folder}: {time.perf_counter() - begin:.0f} s")
    rows = []
    for kind in ("open", "neighbours", "partitions", "inference"):
        row = apart(kind, folder, steps, threads, memory=memory)
        rows.append(row)
        figures = ", ".join(f"{key[:-8]} {value:.3g} s" for key, value in row.items() if key.endswith("_seconds"))
        say(f"{kind}: {figures}; {row['peak_bytes'] / 1e9:.2f} GB above the libraries")
    return {"environment": environment(), "memory": memory, "rows": rows}


def full(sizes: list[int], threads: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Steps on whole graphs of several sizes and densities, beside what was said of them beforehand."""
    from mshgnn.benchmarks.compare import environment

    rows = []
    for edges in sizes:
        for per_node in (10, EDGES_PER_NODE):
            row = {**apart("bytes", edges, per_node, threads), **apart("seconds", edges, per_node, threads)}
            rows.append(row)
            seconds, memory = (row["step_seconds"], row["said_seconds"]), (row["peak_bytes"], row["said_bytes"])
            say(
                f"{row['edges']:,} edges, {row['nodes']:,} nodes: {seconds[0]:.3g} s (said {seconds[1]:.3g}), "
                f"{memory[0] / 1e9:.3g} GB (said {memory[1] / 1e9:.3g})"
            )
    return {"environment": environment(), "rows": rows}


if __name__ == "__main__":
    asked, first, *rest = sys.argv[1:]
    numbers = [int(number) for number in rest]
    of_step = asked in ("seconds", "bytes")
    print(json.dumps(full_step(asked, int(first), *numbers) if of_step else measure(asked, Path(first), *numbers)))
