"""A fold made ready for the loop: the steps of an epoch, and the three parts to measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.splits import Split, count_items
from mshgnn.data.structure import structure_of
from mshgnn.data.union import is_union, pieces
from mshgnn.machine import find_device
from mshgnn.structure import PackedStructure, Structure
from mshgnn.structure.ragged import owners
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.objective import UNLABELLED, Objective, objective_of
from mshgnn.training.settings import TrainingSettings


class Step(NamedTuple):
    """One training step: a batch, which of its outputs count (all if ``None``), their targets and any weights."""

    batch: GraphBatch
    chosen: Tensor | None
    target: Tensor
    weights: Tensor | None = None


class Part(NamedTuple):
    """One of train, validation and test: its batches, which of their outputs count (all if ``None``), the targets."""

    batches: Sequence[GraphBatch]
    chosen: Tensor | None
    target: Tensor


class Parts(NamedTuple):
    """The three parts of a fold."""

    train: Part
    validation: Part
    test: Part


Steps = Callable[[torch.Generator], Iterator[Step]]


class Fold(NamedTuple):
    """A fold as the loop sees it: what is aimed at, the steps of an epoch, the parts to measure."""

    objective: Objective
    loss: Callable[..., Tensor]
    """The training loss of outputs and targets, with label smoothing and class weights, and ``item_weights``."""
    steps: Steps
    parts: Parts


def prepare(dataset: GraphDataset, split: Split, settings: TrainingSettings, kinds: Sequence[Structure] = ()) -> Fold:
    """Everything about a fold that does not change from epoch to epoch, on the device of the settings.

    Every batch carries the ``kinds`` of structure.
    """
    if len(split.train) == 0 or len(split.validation) + len(split.test) == 0:
        raise DataError(f"{dataset.name}: the split has nothing to {'test' if len(split.train) else 'train'} on")
    count_items(split, dataset.num_items, f"{dataset.name}: the split")
    objective = objective_of(dataset, regression_loss=settings.regression_loss)
    make = _node_parts if dataset.task == "node" else _graph_parts
    if is_union(dataset):
        make, dataset = _union_parts, pieces(dataset)
    structure = structure_of(dataset, kinds) if kinds else None
    steps, parts = make(dataset, split, settings, structure, find_device(settings.device))
    weights = objective.balanced_weights(parts.train.target) if settings.class_weights == "balanced" else None
    loss = partial(objective.loss, label_smoothing=settings.label_smoothing, class_weights=weights)
    return Fold(objective, loss, steps, parts)


def _graph_parts(
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    structure: PackedStructure | None,
    device: torch.device,
) -> tuple[Steps, Parts]:
    """Graphs of each part packed end to end."""
    packed = PackedGraphs.pack(dataset.graphs, sparse=settings.sparse_features == "auto", structure=structure)
    return _packed_parts([packed.take(part) for part in split], settings, device)


def _union_parts(
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    structure: PackedStructure | None,
    device: torch.device,
) -> tuple[Steps, Parts]:
    """Graphs whose nodes have the targets: each part has the graphs of its nodes, other nodes there have no target."""
    sparse = settings.sparse_features == "auto"
    packed = PackedGraphs.pack(dataset.graphs, sparse=sparse, structure=structure, node_targets=True)
    graph_of = owners(packed.node_start)

    def of_nodes(nodes: Tensor) -> PackedGraphs:
        y = torch.full_like(packed.y, math.nan if packed.y.is_floating_point() else UNLABELLED)
        y[nodes] = packed.y[nodes]
        return replace(packed, y=y).take(torch.unique(graph_of[nodes]))

    return _packed_parts([of_nodes(nodes) for nodes in split], settings, device)


def _packed_parts(
    packed: Sequence[PackedGraphs], settings: TrainingSettings, device: torch.device
) -> tuple[Steps, Parts]:
    """Batches of the three parts' graphs: drawn anew every epoch for training, always the same for measuring."""
    train = replace(packed[0], weights=_of_mean_one(packed[0].weights))

    def steps(generator: torch.Generator) -> Iterator[Step]:
        for made in train.shuffled_batches(settings.batch_size, generator):
            batch = made.to(device)
            yield Step(batch, None, batch.y, batch.weights)

    def part(graphs: PackedGraphs) -> Part:
        batches = [batch.to(device) for batch in graphs.evaluation_batches(settings.batch_size)]
        return Part(batches, None, graphs.y.to(device))

    return steps, Parts(*(part(graphs) for graphs in packed))


def _node_parts(
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    structure: PackedStructure | None,
    device: torch.device,
) -> tuple[Steps, Parts]:
    """The whole graph is the only batch; the parts are sets of its nodes."""
    sparse = settings.sparse_features == "auto"
    batch = whole_graph(dataset.graphs[0], sparse=sparse, structure=structure).to(device)
    batches = [batch]

    def part(nodes: Tensor) -> Part:
        chosen = nodes.to(device)
        return Part(batches, chosen, batch.y[chosen])

    parts = Parts(*(part(nodes) for nodes in split))
    weights = None if batch.weights is None else _of_mean_one(batch.weights[parts.train.chosen])
    return lambda generator: iter([Step(batch, parts.train.chosen, parts.train.target, weights)]), parts


def _of_mean_one(weights: Tensor | None) -> Tensor | None:
    """The weights of a training part, scaled so that the rate of learning is that of equal weights."""
    if weights is None:
        return None
    mean = weights.double().mean()
    if not float(mean) > 0:
        raise DataError("every weight of the training part is 0: there is nothing to train on")
    return (weights / mean).to(weights.dtype)
