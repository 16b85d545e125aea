"""The steps of an epoch on one large graph: sampled neighbourhoods of training nodes, or parts of a cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.partition import partition
from mshgnn.errors import UserError
from mshgnn.structure.neighbourhood import Neighbourhood, closed
from mshgnn.training.batches import GraphBatch
from mshgnn.training.node_store import NodeStore
from mshgnn.training.settings import TrainingSettings

PARTS_PER_STEP = 8
"""A step joins so many parts, with the edges between them: each step joins others, so no edge is cut for good."""


class NodeBatch(NamedTuple):
    """A batch, which of its targets are training nodes (all if ``None``), and their places in the training part."""

    batch: GraphBatch
    rows: Tensor | None
    places: Tensor


Draw = Callable[[torch.Generator], Iterator[NodeBatch]]


def node_batches(store: NodeStore, train: Tensor, settings: TrainingSettings, hops: int, seed: int) -> Draw:
    """What gives the batches of one epoch, in the order of a generator."""
    make = {"neighbours": _neighbourhoods, "partitions": _partitions}[settings.batching]
    return make(store, train, settings, hops, seed)


def counts_of(settings: TrainingSettings, hops: int) -> tuple[int, ...]:
    """How many neighbours are drawn at each hop."""
    given = settings.neighbours
    if len(given) not in (1, hops):
        raise UserError(f"training.neighbours: {len(given)} numbers, but the model has {hops} layers; give 1 or {hops}")
    return given * hops if len(given) == 1 else given


def _neighbourhoods(store: NodeStore, train: Tensor, settings: TrainingSettings, hops: int, seed: int) -> Draw:
    counts = counts_of(settings, hops)
    sampler = store.sampler(replace=settings.with_replacement, seed=seed)

    def draw(generator: torch.Generator) -> Iterator[NodeBatch]:
        # the state of the draws comes from the generator, which a checkpoint keeps
        sampler.reseed(int(torch.randint(2**62, (1,), generator=generator)))
        order = torch.randperm(len(train), generator=generator)
        for places in torch.tensor_split(order, -(-len(train) // settings.nodes_per_step)):
            part = sampler.around(train[places].numpy(), counts)
            degree = store.degree(part.nodes[: part.node_counts[-2]])
            neighbourhood = Neighbourhood(part.node_counts, part.edge_counts, degree)
            yield NodeBatch(store.batch(part, neighbourhood), None, places)

    return draw


def _partitions(store: NodeStore, train: Tensor, settings: TrainingSettings, hops: int, seed: int) -> Draw:
    count = max(1, min(len(store), round(PARTS_PER_STEP * len(store) / settings.nodes_per_step)))
    parts = partition(store.rowptr, store.sender, count, settings.partitioner)
    store.forget()
    members = np.split(np.argsort(parts, kind="stable"), np.cumsum(np.bincount(parts, minlength=count))[:-1])
    place = torch.full((len(store),), -1)
    place[train] = torch.arange(len(train))
    sampler = store.sampler(seed=seed)

    def draw(generator: torch.Generator) -> Iterator[NodeBatch]:
        order = torch.randperm(count, generator=generator)
        for chosen in torch.tensor_split(order, -(-count // PARTS_PER_STEP)):
            part = sampler.among(np.concatenate([members[number] for number in chosen.tolist()]))
            rows = (place[torch.from_numpy(part.nodes)] >= 0).nonzero().flatten()
            if len(rows):
                sizes = part.node_counts[0], part.edge_counts[0]
                neighbourhood = closed(*sizes, store.degree(part.nodes), hops)
                yield NodeBatch(store.batch(part, neighbourhood), rows, place[torch.from_numpy(part.nodes)[rows]])

    return draw
