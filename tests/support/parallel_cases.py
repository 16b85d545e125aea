"""Trainings that one process and several must bring to the same end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from mshgnn.data import GraphDataset, Split, from_graphs
from mshgnn.data.dataset import WEIGHT
from mshgnn.models import build
from mshgnn.ops import get_backend, set_backend
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.curves import Curves
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.parallel import ALONE, WorkerLost, Workers
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings

GRAPHS = 60


class Trained(NamedTuple):
    weights: dict[str, NDArray[Any]]
    """Arrays: a tensor would come out of a process only as long as that lives."""
    curves: Curves
    meetings: int
    sent_bytes: float


def same_bits(found: Trained, expected: Trained) -> bool:
    """Whether weights and curves are equal to the last bit."""
    return found.curves == expected.curves and all(
        np.array_equal(found.weights[name], value) for name, value in expected.weights.items()
    )


def classes() -> GraphDataset:
    """Rings of 3 to 9 nodes; the class, of three, shifts a feature. Every tenth has none; weights are unequal."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(GRAPHS):
        nodes = 3 + number % 7
        x = torch.randn(nodes, 5, generator=generator)
        label = int(torch.randint(3, (1,), generator=generator))
        x[:, 0] += label
        ring = torch.arange(nodes)
        edges = torch.cat([torch.stack([ring, ring.roll(1)]), torch.stack([ring.roll(1), ring])], dim=1)
        graphs.append(Data(x=x, edge_index=edges, y=torch.tensor([label])))
    dataset = from_graphs(graphs, name="rings")
    for number, graph in enumerate(dataset.graphs):
        graph[WEIGHT] = torch.tensor([1.0 + number % 4])
        if number % 10 == 0:
            graph.y = torch.tensor([-1])
    return dataset


def numbers() -> GraphDataset:
    """Two numbers per graph, a third of them missing."""
    dataset = classes()
    generator = torch.Generator().manual_seed(1)
    for graph in dataset.graphs:
        graph.y = torch.randn(1, 2, generator=generator) + graph.x.mean()
        graph.y[torch.rand(1, 2, generator=generator) < 0.3] = float("nan")
    return replace(dataset, objective="regress", metric="rmse", num_classes=0, target_names=("a", "b"))


class Case(NamedTuple):
    dataset: Callable[[], GraphDataset]
    model: str
    options: dict[str, Any]
    settings: dict[str, Any]


CASES = {
    "harmonic, dropout, unequal weights": Case(
        classes, "msh-stable", {"dropout": 0.3}, {"weight_average": 0.5, "gradient_clip": 0.5}
    ),
    "balanced classes, smoothed": Case(
        classes, "gin", {"dropout": 0.2}, {"class_weights": "balanced", "label_smoothing": 0.1, "schedule": "cosine"}
    ),
    "missing numbers": Case(numbers, "gine", {}, {"optimiser": "adamw", "weight_decay": 0.01, "schedule": "plateau"}),
    "batches of four": Case(classes, "gcn", {"dropout": 0.0}, {"batch_size": 4, "evaluate_train_every": 2}),
}


def train(
    case: Case,
    workers: Workers = ALONE,
    checkpoint: Checkpoint | None = None,
    see: Callable[[EpochReport], None] | None = None,
    epochs: int = 4,
) -> Trained:
    dataset = case.dataset()
    parts = torch.randperm(GRAPHS, generator=torch.Generator().manual_seed(2)).tensor_split((36, 48))
    with one_thread(3):
        model = untrained(case, dataset)
    settings = TrainingSettings.model_validate(
        {"epochs": epochs, "batch_size": 12, "learning_rate": 0.01} | case.settings
    )
    met, sent = workers.traffic.meetings, workers.traffic.sent_bytes
    before = get_backend()
    set_backend("reference")  # the fused one would compile kernels anew for this width
    try:
        curves = train_fold(
            model, dataset, Split(*parts), settings, 3, see, keep_best=True, checkpoint=checkpoint, workers=workers
        )
    finally:
        set_backend(before)
    weights = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    return Trained(weights, curves, workers.traffic.meetings - met, workers.traffic.sent_bytes - sent)


def untrained(case: Case, dataset: GraphDataset) -> nn.Module:
    options = {"hidden_channels": 8, "num_layers": 2, **case.options}
    return build(case.model, dataset.num_features, dataset.out_channels, task="graph", options=options)


def train_all(workers: Workers) -> dict[str, Trained]:
    return {name: train(case, workers) for name, case in CASES.items()}


def train_slowly(workers: Workers, name: str) -> Trained:
    """The last worker sleeps now and then."""
    if workers.rank == workers.size - 1:
        share = workers.share

        def late(chosen: Tensor) -> Tensor:
            time.sleep(0.02 * (int(chosen[0]) % 3))
            return share(chosen)

        workers.share = late  # type: ignore[method-assign]
    return train(CASES[name], workers)


def train_and_stop(workers: Workers, name: str, path: Path, after: int) -> str:
    """One worker dies after so many epochs; what the others say."""

    def see(report: EpochReport) -> None:
        if report.epoch == after and workers.rank == workers.size - 1:
            os._exit(9)

    kept = Checkpoint(path, "digest")
    kept.is_due = lambda: True  # type: ignore[method-assign]
    try:
        train(CASES[name], workers, kept, see)
    except WorkerLost as error:
        return str(error)
    return "went on"


def go_on(workers: Workers, name: str, path: Path, epochs: int = 4) -> tuple[Trained, list[bool]] | str:
    """Train from a checkpoint; also which epochs were there already. What went wrong, if a worker was lost."""
    seen: list[bool] = []
    kept = Checkpoint(path, "digest")
    kept.is_due = lambda: True  # type: ignore[method-assign]
    try:
        done = train(CASES[name], workers, kept, lambda report: seen.append(report.restored), epochs)
    except WorkerLost as error:
        return str(error)
    return done, seen
