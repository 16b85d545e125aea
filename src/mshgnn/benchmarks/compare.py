"""Our layer against the layer as printed and PyG's: times, memory, and the goals we set ourselves."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from mshgnn.benchmarks.contenders import CHANNELS, CONTENDERS, OURS, PRINTED, PROJECTIONS
from mshgnn.benchmarks.measure import (
    SGEMM_FLOPS,
    alternate,
    forward_step,
    peak_memory,
    sgemm,
    spread,
    training_step,
)
from mshgnn.benchmarks.shapes import Shape, load_shape
from mshgnn.machine import processor


class Goal(NamedTuple):
    """One line of the table of goals: what was asked, what was measured."""

    text: str
    measured: float
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Is the measured figure on the right side of its bound?"""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


def compare(
    shapes: list[str], rounds: int, with_memory: bool, say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure all contenders on the shapes; a plain dictionary, ready for JSON."""
    results: dict[str, Any] = {"environment": environment(), "shapes": {}}
    for name in shapes:
        shape = load_shape(name)
        say(f"{shape.name}: {shape.num_nodes:,} nodes, {shape.edge_index.size(1):,} directed edges ({shape.source})")
        results["shapes"][name] = _compare_on(shape, rounds, with_memory, say)
    results["goals"] = [{**goal._asdict(), "met": goal.met} for goal in goals(results)]
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
            actions["sgemm"] = sgemm()
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
        for name in layers:
            record["contenders"][name]["peak_bytes"] = peak_memory(shape, name, torch.get_num_threads())
    return record


def _bound(shape: Shape, times: dict[str, list[float]]) -> dict[str, Any]:
    """The forward pass against the time its multiply-adds take at the rate of a large matrix product.

    Only matrix arithmetic counts: the generator, the phases, the phase shift, ``W_o`` and ``W_r``. Sines do not.
    """
    nodes, edges, d, F = shape.num_nodes, shape.edge_index.size(1), CHANNELS, PROJECTIONS
    flops = 2 * (nodes * d * F * d + edges * F * d + nodes * (d * F + 6 * F * d + d * d))
    rates = [SGEMM_FLOPS / t for t in times["sgemm"]]
    ratios = [mine * rate / flops for mine, rate in zip(times[OURS], rates, strict=True)]
    return {
        "flops": flops,
        "sgemm_flops_per_second": spread(rates)._asdict(),
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


def goals(results: dict[str, Any]) -> list[Goal]:
    """The goals that can be read off the measured shapes."""
    found: list[Goal] = []
    shapes = results["shapes"]

    def ratio(shape: str, name: str) -> float:
        middle: float = shapes[shape]["contenders"][name]["training"]["ours_over_it"]["middle"]
        return middle

    for shape, faster in (("Physics", 20.0), ("COLLAB", 20.0), ("molecules", 5.0)):
        if shape not in shapes:
            continue
        found.append(Goal(f"{shape}: times faster than as printed", 1 / ratio(shape, PRINTED), faster, True))
        contenders = shapes[shape]["contenders"]
        if shape != "molecules" and "peak_bytes" in contenders[OURS]:
            less = contenders[PRINTED]["peak_bytes"] / max(contenders[OURS]["peak_bytes"], 1.0)
            found.append(Goal(f"{shape}: times less memory than as printed", less, 25.0, True))
    for shape, bound in (("COLLAB", 0.5), ("Physics", 1.0), ("molecules", 1.5)):
        if shape in shapes:
            found.append(Goal(f"{shape}: training step over GATConv", ratio(shape, "GATConv"), bound, False))
            found.append(Goal(f"{shape}: training step over GATv2Conv", ratio(shape, "GATv2Conv"), 1.0, False))
    if "Physics" in shapes:
        over = shapes["Physics"]["bound"]["forward_over_bound"]["middle"]
        found.append(Goal("Physics: forward over its FLOPs at the sgemm rate", over, 3.0, False))
    return found
