"""The training loop: one model, one fold, six curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.splits import Split, count_items
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.curves import CURVE_NAMES, Curves
from mshgnn.training.metrics import measure
from mshgnn.training.seeding import one_thread
from mshgnn.training.settings import TrainingSettings


class EpochReport(NamedTuple):
    """One epoch as a display wants to see it."""

    epoch: int
    epochs: int
    train_loss: float
    validation_metric: float | None
    """``None`` where the fold has no validation part."""


class Part(NamedTuple):
    """One of train, validation and test, ready for evaluation: batches, and which outputs count."""

    batches: Sequence[GraphBatch]
    chosen: Tensor | None
    target: Tensor


class Fold(NamedTuple):
    """A fold as the loop sees it; the training steps of an epoch come from ``steps``."""

    steps: Callable[[torch.Generator], Iterator[tuple[GraphBatch, Tensor | None, Tensor]]]
    parts: tuple[Part, Part, Part]


def train_fold(
    model: nn.Module,
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    seed: int,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> Curves:
    """Train ``model`` in place on ``split.train`` and measure all three parts after every epoch.

    Everything is measured in evaluation mode. Training stops early after ``settings.patience`` epochs without
    a better validation metric (an equal metric with a lower loss counts as better), and at a loss that is no
    longer a number. With ``settings.weight_average`` the averaged weights are measured, and kept at the end.
    One thread and ``seed`` make the result the same to the last bit.
    """
    with one_thread(seed):
        fold = prepare(dataset, split, settings)
        generator = torch.Generator().manual_seed(seed)
        optimiser = make_optimiser(model, settings)
        average = make_average(model, settings)
        plateau = ReduceLROnPlateau(optimiser, factor=settings.plateau_factor, patience=settings.plateau_patience)
        rows: list[tuple[float, ...]] = []
        best, best_epoch = (-math.inf, -math.inf), 0
        for epoch in range(settings.epochs):
            if settings.schedule != "plateau" or epoch <= settings.warmup_epochs:
                set_rate(optimiser, settings, epoch)
            train_epoch(model, fold, optimiser, settings, generator, average)
            row = _evaluate_epoch(average or model, fold.parts, dataset, settings, epoch, rows)
            rows.append(row)
            train_loss, validation_loss, _, _, validation_metric, _ = row
            if on_epoch is not None:
                shown = validation_metric if len(split.validation) else None
                on_epoch(EpochReport(epoch + 1, settings.epochs, train_loss, shown))
            if not math.isfinite(train_loss):
                break
            if settings.schedule == "plateau" and epoch >= settings.warmup_epochs:
                plateau.step(validation_loss)
            if (score := (validation_metric, -validation_loss)) > best:
                best, best_epoch = score, epoch
            if settings.patience is not None and epoch - best_epoch >= settings.patience:
                break
    if average is not None:
        model.load_state_dict(average.module.state_dict())
    columns = np.array(rows, dtype=np.float64).T
    sizes = (len(split.train), len(split.validation), len(split.test))
    return Curves(**dict(zip(CURVE_NAMES, columns, strict=True)), sizes=sizes)


def prepare(dataset: GraphDataset, split: Split, settings: TrainingSettings) -> Fold:
    """Everything about a fold that does not change from epoch to epoch."""
    if len(split.train) == 0 or len(split.test) == 0:
        raise DataError(f"{dataset.name}: the split has nothing to {'test' if len(split.train) else 'train'} on")
    count_items(split, dataset.num_items, f"{dataset.name}: the split")
    return (_node_fold if dataset.task == "node" else _graph_fold)(dataset, split, settings)


def make_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; the fused form does one call a step, which matters on small graphs."""
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return kind(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def make_average(model: nn.Module, settings: TrainingSettings) -> AveragedModel | None:
    """The running average of the weights and of the batch norms' statistics, or ``None`` when none is wanted."""
    if settings.weight_average == 0:
        return None
    moving = get_ema_multi_avg_fn(settings.weight_average)  # type: ignore[no-untyped-call]
    return AveragedModel(model, multi_avg_fn=moving, use_buffers=True)


def set_rate(optimiser: torch.optim.Optimizer, settings: TrainingSettings, epoch: int) -> None:
    """The learning rate of an epoch: linear warm-up, then constant or half a cosine wave down to zero."""
    rate = settings.learning_rate
    if epoch < settings.warmup_epochs:
        rate *= (epoch + 1) / (settings.warmup_epochs + 1)
    elif settings.schedule == "cosine":
        done = (epoch - settings.warmup_epochs) / (settings.epochs - settings.warmup_epochs)
        rate *= (1 + math.cos(math.pi * done)) / 2
    for group in optimiser.param_groups:
        group["lr"] = rate


def train_epoch(
    model: nn.Module,
    fold: Fold,
    optimiser: torch.optim.Optimizer,
    settings: TrainingSettings,
    generator: torch.Generator,
    average: AveragedModel | None = None,
) -> None:
    """One pass over the training part; ``average`` follows the weights."""
    model.train()
    for batch, chosen, target in fold.steps(generator):
        optimiser.zero_grad(set_to_none=True)
        logits = forward(model, batch)
        if chosen is not None:
            logits = logits[chosen]
        loss = cross_entropy(logits, target, label_smoothing=settings.label_smoothing)
        torch.autograd.backward(loss)
        if settings.gradient_clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_clip)
        optimiser.step()
        if average is not None:
            average.update_parameters(model)


def forward(model: nn.Module, batch: GraphBatch) -> Tensor:
    """The model's logits for a batch."""
    logits: Tensor = model(
        batch.x, batch.edge_index, batch.batch, edge_attr=batch.edge_attr, batch_size=batch.num_graphs
    )
    return logits


@torch.no_grad()
def predict(model: nn.Module, batches: Sequence[GraphBatch]) -> Tensor:
    """Logits of all batches in evaluation mode, ``[n, C]``."""
    model.eval()
    return torch.cat([forward(model, batch) for batch in batches])


def _evaluate_epoch(
    model: nn.Module,
    parts: tuple[Part, Part, Part],
    dataset: GraphDataset,
    settings: TrainingSettings,
    epoch: int,
    rows: Sequence[tuple[float, ...]],
) -> tuple[float, ...]:
    """Losses of train, validation, test, then their metrics; a skipped training part keeps its old values."""
    skip_train = bool(rows) and epoch % settings.evaluate_train_every != 0 and epoch != settings.epochs - 1
    losses, metrics = [], []
    shared: tuple[Sequence[GraphBatch], Tensor] | None = None
    for index, part in enumerate(parts):
        if index == 0 and skip_train and part.chosen is None:
            losses.append(rows[-1][0])
            metrics.append(rows[-1][3])
            continue
        if len(part.target) == 0:
            losses.append(0.0)
            metrics.append(0.0)
            continue
        # The three parts of a node task are the same whole graph: one forward pass serves all.
        if shared is None or shared[0] is not part.batches:
            shared = (part.batches, predict(model, part.batches))
        logits = shared[1] if part.chosen is None else shared[1][part.chosen]
        losses.append(float(cross_entropy(logits, part.target)))
        metrics.append(measure(dataset.metric, logits, part.target))
    return (*losses, *metrics)


def _graph_fold(dataset: GraphDataset, split: Split, settings: TrainingSettings) -> Fold:
    """Graphs of each part packed end to end; training batches are drawn anew every epoch."""
    packed = PackedGraphs.pack(dataset.graphs, sparse=settings.sparse_features == "auto")
    train, validation, test = (packed.take(indices) for indices in split)

    def steps(generator: torch.Generator) -> Iterator[tuple[GraphBatch, Tensor | None, Tensor]]:
        for batch in train.shuffled_batches(settings.batch_size, generator):
            yield batch, None, batch.y

    def part(packed: PackedGraphs) -> Part:
        return Part(packed.evaluation_batches(settings.batch_size), None, packed.y)

    return Fold(steps, (part(train), part(validation), part(test)))


def _node_fold(dataset: GraphDataset, split: Split, settings: TrainingSettings) -> Fold:
    """The whole graph is the only batch; the parts are sets of its nodes."""
    batch = whole_graph(dataset.graphs[0], sparse=settings.sparse_features == "auto")
    batches = [batch]
    target = batch.y[split.train]

    def steps(generator: torch.Generator) -> Iterator[tuple[GraphBatch, Tensor | None, Tensor]]:
        yield batch, split.train, target

    def part(nodes: Tensor) -> Part:
        return Part(batches, nodes, batch.y[nodes])

    return Fold(steps, (part(split.train), part(split.validation), part(split.test)))
