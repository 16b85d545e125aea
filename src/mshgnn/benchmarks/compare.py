"""Our layer against its full generator and PyG's layers: times and memory."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from mshgnn.benchmarks.contenders import CHANNELS, CONTENDERS, OURS, PARTS, PROJECTIONS, RANK
from mshgnn.benchmarks.goals import goals
from mshgnn.benchmarks.measure import (
    COPY_BYTES,
    SGEMM_FLOPS,
    alternate,
    copy,
    forward_step,
    peak_memory,
    sgemm,
    spread,
    training_step,
)
from mshgnn.benchmarks.shapes import Shape, load_shape
from mshgnn.errors import UserError
from mshgnn.machine import keep_freed_blocks, processor

FLOPS_PER_ENCODING = 40  # one sine and cosine, two doubled angles, six additions


class Comparison(NamedTuple):
    """What one run measures, and under which conditions."""

    shapes: tuple[str, ...]
    rounds: int
    with_memory: bool
    threads: int
    keep_freed: bool


def measure_apart(wanted: Comparison) -> dict[str, Any]:
    """:func:`compare` in a process of its own: what malloc was told once cannot be taken back."""
    command = [sys.executable, "-m", "mshgnn.benchmarks.compare"]
    done = subprocess.run(command, input=json.dumps(wanted), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise UserError(f"the comparison failed with exit code {done.returncode}, see above")
    return json.loads(done.stdout)


def compare(wanted: Comparison, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Measure all contenders on the shapes; a plain dictionary, ready for JSON."""
    torch.set_num_threads(wanted.threads)
    if wanted.keep_freed:
        keep_freed_blocks()
    results: dict[str, Any] = {
        "environment": environment() | {"freed_memory": "kept" if wanted.keep_freed else "returned"},
        "shapes": {},
    }
    for name in wanted.shapes:
        shape = load_shape(name)
        say(f"{shape.name}: {shape.num_nodes:,} nodes, {shape.edge_index.size(1):,} directed edges ({shape.source})")
        results["shapes"][name] = _compare_on(shape, wanted.rounds, wanted.with_memory, say)
    results["goals"] = [{**goal._asdict(), "met": goal.met} for goal in goals(results["shapes"])]
    return results


def _compare_on(shape: Shape, rounds: int, with_memory: bool, say: Callable[[str], None]) -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(shape.num_nodes, CHANNELS)
    layers = {name: build() for name, build in CONTENDERS.items()}
    record: dict[str, Any] = {
        "nodes": shape.num_nodes,
        "edges": shape.edge_index.size(1),
        "source": shape.source,
        "contenders": {name: {} for name in layers},
    }
    for kind, make in (("forward", forward_step), ("training", training_step)):
        say(f"  {kind}")
        actions: dict[str, Callable[[], object]] = {
            name: make(layer, x, shape.edge_index) for name, layer in layers.items()
        }
        if kind == "forward":
            actions |= {"sgemm": sgemm(), "copy": copy()}
        times = alternate(actions, rounds)
        for name in layers:
            # A ratio of two times of the same round: what the machine did meanwhile drops out.
            ratios = spread([mine / other for mine, other in zip(times[OURS], times[name], strict=True)])
            record["contenders"][name][kind] = {
                "seconds": {**spread(times[name])._asdict(), "fastest": min(times[name])},
                "ours_over_it": ratios._asdict(),
            }
        if kind == "forward":
            record["bound"] = _bound(shape, times)
    if with_memory:
        say("  memory")
        for name in (name for name in layers if name not in PARTS):
            record["contenders"][name]["peak_bytes"] = peak_memory(shape, name, torch.get_num_threads())
    return record


def _bound(shape: Shape, times: dict[str, list[float]]) -> dict[str, Any]:
    """The forward pass against what the machine must do for it, whichever takes longer.

    Bytes, at the rate of a large copy: every edge reads its sender's row of the table, every node reads and writes its
    features, its normalised features, its tables, its sums and its output once. Operations, at the rate of a large
    matrix product: the products per node, and per phase ``R + 1`` multiply-adds and sines with their doubled angles.
    """
    nodes, edges, d, F = shape.num_nodes, shape.edge_index.size(1), CHANNELS, PROJECTIONS
    tables, sums, features = 2 * (RANK + 1) * F, 6 * F, d + 2
    flops = 2 * nodes * (features * tables + sums * d + d * d) + edges * F * (2 * (RANK + 1) + FLOPS_PER_ENCODING)
    size = 4 * (edges * ((RANK + 1) * F + 1) + 2 * nodes * (d + features + tables + sums + d))
    flop_rates = [SGEMM_FLOPS / t for t in times["sgemm"]]
    byte_rates = [COPY_BYTES / t for t in times["copy"]]
    ratios = [
        mine / max(flops / flop_rate, size / byte_rate)
        for mine, flop_rate, byte_rate in zip(times[OURS], flop_rates, byte_rates, strict=True)
    ]
    return {
        "flops": flops,
        "bytes": size,
        "sgemm_flops_per_second": spread(flop_rates)._asdict(),
        "copy_bytes_per_second": spread(byte_rates)._asdict(),
        "forward_over_bound": spread(ratios)._asdict(),
    }


def environment() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    import numba
    import torch_geometric

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    described = Comparison(*json.load(sys.stdin))
    print(json.dumps(compare(described, lambda text: print(text, file=sys.stderr, flush=True))))
