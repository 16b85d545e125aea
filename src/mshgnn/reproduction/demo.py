"""The joint structure-frequency task, end to end: train four models, measure them, draw what they see."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn

from mshgnn.benchmarks.footprint import Footprint, measure_footprints
from mshgnn.data.structure_frequency import FAMILIES, NUM_MODES
from mshgnn.evaluation.rules import HEADLINE, RULES
from mshgnn.files import written
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.fold import FoldJob, train_model
from mshgnn.lab.runner import Display, run_info
from mshgnn.lab.setup import LoadedData, load_data
from mshgnn.machine import peak_memory_mb
from mshgnn.predictor.inside import responses_on
from mshgnn.records.run import FoldResult
from mshgnn.report.figures import learning_curves, tsne
from mshgnn.report.page.contents import Response
from mshgnn.training.batches import PackedGraphs
from mshgnn.training.curves import Curves

TITLE = "Joint structure-frequency task"


@dataclass(frozen=True)
class DemoRow:
    """One model of the demo: what it reached, what it costs, what it sees in the test graphs."""

    name: str
    curves: Curves
    parameters: int
    footprint: Footprint
    embeddings: Tensor

    @property
    def accuracy(self) -> float:
        """Test accuracy at the epoch best on validation."""
        return RULES[HEADLINE]([self.curves]).mean


@dataclass(frozen=True)
class Trained:
    """A model of the joint task after its training, with the data it was trained on."""

    model: nn.Module
    data: LoadedData
    curves: Curves


def run_demo(experiments: Sequence[Experiment], display: Display) -> list[DemoRow]:
    """Train each experiment's first fold with its first seed, then measure the models in turn."""
    experiments = [first_fold(experiment) for experiment in experiments]
    trained = [train_first(experiment, display) for experiment in experiments]
    footprints = measure_footprints(experiments)
    return [
        DemoRow(
            experiment.model.name,
            one.curves,
            sum(parameter.numel() for parameter in one.model.parameters()),
            footprint,
            embed_test_graphs(one.model, one.data),
        )
        for experiment, one, footprint in zip(experiments, trained, footprints, strict=True)
    ]


def first_fold(experiment: Experiment) -> Experiment:
    """The experiment with its first fold and its first seed alone."""
    return experiment.model_copy(update={"seeds": experiment.seeds[:1], "folds": (0,)})


def train_first(experiment: Experiment, display: Display) -> Trained:
    """Train the experiment's first fold."""
    data = load_data(experiment)
    info = run_info(experiment, data)
    job = FoldJob(experiment, info.keys[0])
    display.begin(info, 0)
    try:
        started = time.perf_counter()
        model, curves = train_model(job, data, lambda report: display.epoch(job.key, report))
        seconds = time.perf_counter() - started
        parameters = sum(parameter.numel() for parameter in model.parameters())
        display.fold(FoldResult(job.key, curves, seconds, peak_memory_mb(), parameters, info.environment))
    finally:
        display.end()
    return Trained(model, data, curves)


@torch.no_grad()
def embed_test_graphs(model: nn.Module, data: LoadedData) -> Tensor:
    """What the model's head sees of the test graphs, ``[graphs, D]``."""
    dataset, split = data.of_fold(0)
    packed = PackedGraphs.pack(dataset.graphs).take(split.test)
    (batch,) = packed.batches([0, len(packed)])
    model.eval()
    embed: Any = model.embed
    embeddings: Tensor = embed(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
    return embeddings


def demo_table(rows: Sequence[DemoRow]) -> Table:
    """The paper's table: parameters, inference time, peak memory, accuracy."""
    table = Table("model", "parameters", "inference, ms", "peak memory, MB", "test accuracy", title_justify="left")
    table.title = "Joint structure-frequency task: one seed, epoch chosen on validation"
    table.caption = (
        "joint-gcn, joint-gat: as the paper has them; gcn: its message in the shell of msh-stable\n"
        "inference and memory: all test graphs as one batch, one thread, the models in turn"
    )
    for row in rows:
        cost = row.footprint
        table.add_row(
            row.name,
            f"{row.parameters:,}",
            f"{1000 * cost.inference_seconds:.1f}",
            f"{cost.peak_memory_mb:.1f}",
            f"{row.accuracy:.4f}",
        )
    return table


def save_costs(rows: Sequence[DemoRow], folder: Path) -> Path:
    """Keep what each model costs as ``costs.json``."""
    costs = {
        row.name: {
            "parameters": row.parameters,
            "inference_ms": round(1000 * row.footprint.inference_seconds, 2),
            "peak_mb": round(row.footprint.peak_memory_mb, 2),
        }
        for row in rows
    }
    path = folder / "costs.json"
    with written(path) as file:
        file.write((json.dumps(costs, indent=2) + "\n").encode())
    return path


def draw_demo(rows: Sequence[DemoRow], labels: Tensor, folder: Path) -> list[Path]:
    """Learning curves and t-SNE pictures of all models; ``labels`` are the classes of the test graphs."""
    curves = {row.name: [row.curves] for row in rows}
    embeddings = {row.name: row.embeddings for row in rows}
    return [
        learning_curves(curves, folder / "learning-curves.png", title=TITLE),
        draw_embeddings(embeddings, labels, folder / "embeddings.png"),
    ]


def draw_embeddings(embeddings: Mapping[str, Tensor], labels: Tensor, path: Path) -> Path:
    """t-SNE pictures of the test graphs of the joint task, a panel per model."""
    classes = labels.tolist()
    structures = [FAMILIES[label // NUM_MODES] for label in classes]
    modes = [label % NUM_MODES for label in classes]
    arrays = {name: embedding.numpy() for name, embedding in embeddings.items()}
    return tsne(arrays, structures, modes, path, title=f"{TITLE}: embeddings of test graphs")


def labels_of_test(data: LoadedData) -> Tensor:
    """The classes of the test graphs of the first fold."""
    return data.dataset.labels()[data.splits.folds[0].test]


def joint_responses(trained: Trained) -> tuple[Response, ...]:
    """Shares of energy by layer and band, over the edges of test graphs."""
    dataset, split = trained.data.of_fold(0)
    return responses_on(trained.model, [dataset.graphs[item] for item in split.test])
