"""What a step on a whole large graph will take, said before it is tried."""

from __future__ import annotations

import copy
import time

import torch
from torch import Tensor, nn

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.union import is_union
from mshgnn.machine import check_memory, threads
from mshgnn.training.settings import TrainingSettings

WORTH_SAYING = 100_000
"""Nodes and edges below which nobody asks."""

PROBE_ELEMENTS, PROBE_SHARE = 200_000, 0.1
"""Nodes and edges of the small graph: at least more than the caches hold, and at least this share of the graph's.

Its few steps then take less than half of one on the whole graph, and its senders lie nearly as far apart.
"""
STEPS = 3


def forecast(model: nn.Module, dataset: GraphDataset, settings: TrainingSettings) -> str | None:
    """Memory and seconds of a step on the whole graph of a node task, in one line; ``None`` where there is none.

    A model that can say what it needs is refused where that is more than the limit.
    """
    needs = getattr(model, "step_bytes", None)
    if dataset.task != "node" or is_union(dataset) or settings.batching != "full" or needs is None:
        return None
    nodes, edges = dataset.num_items, int(dataset.graphs[0].edge_index.size(1))
    num_bytes = needs(nodes, edges)
    if num_bytes is None or nodes + edges < WORTH_SAYING:
        return None
    graph = f"a step on the whole graph ({nodes:,} nodes, {edges:,} edges)"
    check_memory(f"{graph}, unless batching is neighbours or partitions,", num_bytes)
    seconds = step_seconds(model, nodes, edges, dataset.num_features)
    return f"{graph} takes about {num_bytes / 1e9:.2g} GB beside the data, and {seconds:.2g} s"


def step_seconds(model: nn.Module, nodes: int, edges: int, in_channels: int) -> float:
    """The seconds of a training step, in proportion to nodes and edges; the best of a few, after one to warm up.

    Senders of the small graph lie closer together, so that the graph takes somewhat longer than this says.
    """
    share = min(1.0, max(PROBE_ELEMENTS / (nodes + edges), PROBE_SHARE))
    few = max(2, round(share * nodes))
    with threads(1), torch.random.fork_rng():  # as a fold has it
        torch.manual_seed(0)
        x = torch.randn(few, in_channels)
        edge_index = torch.randint(few, (2, round(share * edges)))
        edge_index = edge_index[:, edge_index[1].argsort()]
        tried = copy.deepcopy(model).train()
        times = [_step(tried, x, edge_index) for _ in range(STEPS + 1)]
    return min(times[1:]) * nodes / few


def _step(model: nn.Module, x: Tensor, edge_index: Tensor) -> float:
    begin = time.perf_counter()
    model.zero_grad(set_to_none=True)
    torch.autograd.backward(model(x, edge_index).square().mean())
    return time.perf_counter() - begin
