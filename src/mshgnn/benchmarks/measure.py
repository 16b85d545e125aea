"""Clocks and memory meters."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mshgnn.benchmarks.shapes import Shape
from mshgnn.errors import UserError


class Spread(NamedTuple):
    """Median and quartiles."""

    middle: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles of some measurements."""
    ordered = torch.tensor(sorted(values), dtype=torch.float64)
    low, middle, high = torch.quantile(ordered, torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)).tolist()
    return Spread(middle, low, high)


def seconds(action: Callable[[], object], repeats: int) -> float:
    """The median time of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def alternate(actions: dict[str, Callable[[], object]], rounds: int, budget: float = 0.1) -> dict[str, list[float]]:
    """Times of every action, one sample a round, all actions in every round: what disturbs one disturbs all.

    A sample is the median of as many runs as fit into ``budget`` seconds (at least one, at most 25).
    """
    repeats = {}
    for name, action in actions.items():
        action()  # warm: compiles, sorts, allocates
        repeats[name] = max(1, min(25, int(budget / max(seconds(action, 2), 1e-6))))
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(seconds(action, repeats[name]))
    return times


def forward_step(layer: nn.Module, x: Tensor, edge_index: Tensor) -> Callable[[], object]:
    """One forward pass without gradients."""

    def step() -> None:
        with torch.no_grad():
            layer(x, edge_index)

    return step


def training_step(layer: nn.Module, x: Tensor, edge_index: Tensor) -> Callable[[], object]:
    """Forward and backward with gradients for the parameters and the input, as in the middle of a network."""
    x = x.detach().requires_grad_()
    with torch.no_grad():
        gradient = torch.randn_like(layer(x, edge_index))

    def step() -> None:
        x.grad = None
        layer.zero_grad()
        layer(x, edge_index).backward(gradient)

    return step


SGEMM_SIZE = 2048
SGEMM_FLOPS = 2 * SGEMM_SIZE**3


def sgemm() -> Callable[[], object]:
    """One large square matrix product: the best multiply rate this machine shows."""
    a, b = torch.randn(SGEMM_SIZE, SGEMM_SIZE), torch.randn(SGEMM_SIZE, SGEMM_SIZE)
    out = torch.empty(SGEMM_SIZE, SGEMM_SIZE)
    return lambda: torch.mm(a, b, out=out)


COPY_FLOATS = 2**25
COPY_BYTES = 2 * 4 * COPY_FLOATS


def copy() -> Callable[[], object]:
    """One large copy: the rate at which this machine reads and writes memory."""
    source, target = torch.randn(COPY_FLOATS), torch.empty(COPY_FLOATS)
    return lambda: target.copy_(source)


def peak_memory(shape: Shape, contender: str, threads: int) -> float:
    """Bytes that one training step needs above what was there before it, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.pt"
        torch.save(shape.edge_index, path)
        command = [
            sys.executable,
            "-m",
            "mshgnn.benchmarks.memory",
            str(path),
            str(shape.num_nodes),
            contender,
            str(threads),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"the memory of {contender} on {shape.name} could not be measured: {done.stderr[-400:]}")
    return float(json.loads(done.stdout.splitlines()[-1])["bytes"])
