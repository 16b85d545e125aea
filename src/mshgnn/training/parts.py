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
from mshgnn.errors import UserError
from mshgnn.machine import find_device
from mshgnn.structure import PackedStructure, Structure
from mshgnn.structure.ragged import owners
from mshgnn.training.batches import GraphBatch, PackedGraphs, whole_graph
from mshgnn.training.layerwise import LayerByLayer
from mshgnn.training.node_batches import node_batches
from mshgnn.training.node_store import NodeStore
from mshgnn.training.objective import UNLABELLED, Objective, objective_of
from mshgnn.training.parallel import ALONE, Workers
from mshgnn.training.settings import TrainingSettings


class Step(NamedTuple):
    """One training step: a batch, which of its outputs count (all if ``None``), their targets and any weights."""

    batch: GraphBatch
    chosen: Tensor | None
    target: Tensor
    weights: Tensor | None = None


class Part(NamedTuple):
    """One of train, validation and test: its batches, which of their outputs count (all if ``None``), the targets."""

    batches: Sequence[GraphBatch | LayerByLayer]
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
    counted: Callable[[Tensor], Tensor]
    """What the mean in the training loss divides by, of targets."""
    steps: Steps
    parts: Parts


class _Given(NamedTuple):
    """What the steps and parts of a fold are made of."""

    dataset: GraphDataset
    split: Split
    settings: TrainingSettings
    structure: PackedStructure | None
    device: torch.device
    workers: Workers


def prepare(
    dataset: GraphDataset,
    split: Split,
    settings: TrainingSettings,
    kinds: Sequence[Structure] = (),
    *,
    hops: int | None = None,
    seed: int = 0,
    workers: Workers = ALONE,
) -> Fold:
    """Everything about a fold that does not change from epoch to epoch, on the device of the settings.

    Every batch carries the ``kinds`` of structure. A model that reaches ``hops`` far by edges alone can be trained on
    parts of a graph, whose draws begin at ``seed``. The steps have this worker's share of every batch.
    """
    if len(split.train) == 0 or len(split.validation) + len(split.test) == 0:
        raise DataError(f"{dataset.name}: the split has nothing to {'test' if len(split.train) else 'train'} on")
    count_items(split, dataset.num_items, f"{dataset.name}: the split")
    objective = objective_of(dataset, regression_loss=settings.regression_loss)
    make: Callable[[_Given], tuple[Steps, Parts]] = _node_parts if dataset.task == "node" else _graph_parts
    if is_union(dataset):
        make, dataset = _union_parts, pieces(dataset)
    if settings.batching != "full":
        make = _checked_part_maker(dataset, kinds, hops, seed)
    structure = structure_of(dataset, kinds) if kinds else None
    steps, parts = make(_Given(dataset, split, settings, structure, find_device(settings.device), workers))
    weights = objective.balanced_weights(parts.train.target) if settings.class_weights == "balanced" else None
    loss = partial(objective.loss, label_smoothing=settings.label_smoothing, class_weights=weights)
    return Fold(objective, loss, partial(objective.counted, class_weights=weights), steps, parts)


def _graph_parts(given: _Given) -> tuple[Steps, Parts]:
    """Graphs of each part packed end to end."""
    sparse = given.settings.sparse_features == "auto"
    packed = PackedGraphs.pack(given.dataset.graphs, sparse=sparse, structure=given.structure)
    return _packed_parts([packed.take(part) for part in given.split], given)


def _union_parts(given: _Given) -> tuple[Steps, Parts]:
    """Graphs whose nodes have the targets: each part has the graphs of its nodes, other nodes there have no target."""
    sparse = given.settings.sparse_features == "auto"
    packed = PackedGraphs.pack(given.dataset.graphs, sparse=sparse, structure=given.structure, node_targets=True)
    graph_of = owners(packed.node_start)

    def of_nodes(nodes: Tensor) -> PackedGraphs:
        y = torch.full_like(packed.y, math.nan if packed.y.is_floating_point() else UNLABELLED)
        y[nodes] = packed.y[nodes]
        return replace(packed, y=y).take(torch.unique(graph_of[nodes]))

    return _packed_parts([of_nodes(nodes) for nodes in given.split], given)


def _packed_parts(packed: Sequence[PackedGraphs], given: _Given) -> tuple[Steps, Parts]:
    """Batches of the three parts' graphs: drawn anew every epoch for training, always the same for measuring."""
    settings, device, workers = given.settings, given.device, given.workers
    train = replace(packed[0], weights=_of_mean_one(packed[0].weights))
    smallest = len(train) // -(-len(train) // settings.batch_size)
    if workers.size > smallest:
        raise UserError(f"{workers.size} workers cannot share batches of {smallest} graphs: raise training.batch_size")

    def steps(generator: torch.Generator) -> Iterator[Step]:
        for made in train.shuffled_batches(settings.batch_size, generator, workers.share):
            batch = made.to(device)
            yield Step(batch, None, batch.y, batch.weights)

    def part(graphs: PackedGraphs) -> Part:
        batches = [batch.to(device) for batch in graphs.evaluation_batches(settings.batch_size)]
        return Part(batches, None, graphs.y.to(device))

    return steps, Parts(*(part(graphs) for graphs in packed))


def _node_parts(given: _Given) -> tuple[Steps, Parts]:
    """The whole graph is the only batch; the parts are sets of its nodes."""
    if given.workers.are_several:
        raise UserError(f"{given.dataset.name}: is one graph, which workers cannot share; train it in one process")
    sparse = given.settings.sparse_features == "auto"
    batch = whole_graph(given.dataset.graphs[0], sparse=sparse, structure=given.structure).to(given.device)
    batches = [batch]

    def part(nodes: Tensor) -> Part:
        chosen = nodes.to(given.device)
        return Part(batches, chosen, batch.y[chosen])

    parts = Parts(*(part(nodes) for nodes in given.split))
    weights = None if batch.weights is None else _of_mean_one(batch.weights[parts.train.chosen])
    return lambda generator: iter([Step(batch, parts.train.chosen, parts.train.target, weights)]), parts


def _checked_part_maker(
    dataset: GraphDataset, kinds: Sequence[Structure], hops: int | None, seed: int
) -> Callable[[_Given], tuple[Steps, Parts]]:
    """What makes the steps on parts of one large graph, where data and model allow it."""
    if dataset.task != "node" or is_union(dataset):
        raise UserError(f"training.batching: {dataset.name} is no single graph; many graphs have batch_size")
    if hops is None or kinds:
        raise UserError(
            "training.batching: this model reads more of a graph than incoming edges, so it cannot be trained on parts"
        )
    return partial(_drawn_parts, hops=hops, seed=seed)


def _drawn_parts(given: _Given, hops: int, seed: int) -> tuple[Steps, Parts]:
    """Steps on parts of one large graph; measuring takes all its nodes, layer by layer."""
    if given.workers.are_several:
        raise UserError("training.batching: parts of one graph are trained by one process")
    split, device = given.split, given.device
    store = NodeStore.of(given.dataset.graphs[0], sparse=given.settings.sparse_features == "auto")
    weights = None if store.weights is None else _of_mean_one(store.weights[split.train])
    draw = node_batches(store, split.train, given.settings, hops, seed)

    def steps(generator: torch.Generator) -> Iterator[Step]:
        for part in draw(generator):
            batch = part.batch.to(device)
            own = None if weights is None else weights[part.places].to(device)
            rows = None if part.rows is None else part.rows.to(device)
            yield Step(batch, rows, batch.y if rows is None else batch.y[rows], own)

    whole = [LayerByLayer(store, torch.cat(list(split)), device)]
    sizes = [len(nodes) for nodes in split]
    chosen = torch.split(torch.arange(sum(sizes), device=device), sizes)
    targets = [store.y[nodes].to(device) for nodes in split]
    return steps, Parts(*(Part(whole, *pair) for pair in zip(chosen, targets, strict=True)))


def _of_mean_one(weights: Tensor | None) -> Tensor | None:
    """The weights of a training part, scaled so that the rate of learning is that of equal weights."""
    if weights is None:
        return None
    mean = weights.double().mean()
    if not float(mean) > 0:
        raise DataError("every weight of the training part is 0: there is nothing to train on")
    return (weights / mean).to(weights.dtype)
