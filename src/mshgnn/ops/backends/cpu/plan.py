"""How the receivers of a graph are cut into chunks and tiles: a property of the graph, not of the machine's threads."""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mshgnn.ops.graph import ReceiverCSR, check_csr
from mshgnn.seen import Seen

MAX_CHUNKS = 16
CHUNK_WORK = 2**26  # multiply-adds of a forward pass that are worth a chunk of their own
TILE_FLOATS = 2**17  # numbers of F_v in one tile: 512 kB stay in the second-level cache beside the weights
# Every chunk has a buffer for the gradients of its senders. Together they hold at most so many times all senders ..
BUFFER_COPIES = 4
BUFFER_FLOATS = 2**29  # .. and at most 2 GB, unless two chunks already do not fit

Ints = npt.NDArray[np.int64]


class Cost(NamedTuple):
    """What a layer needs, in multiply-adds and numbers."""

    per_receiver: int
    per_edge: int
    sender_floats: int  # of the gradient of one sender
    tile_floats: int  # that one receiver has in a tile; 0: no tiles


class Chunk(NamedTuple):
    """Receivers ``first <= v < last`` in tiles that fit the cache; their senders lie in ``low <= u < high``."""

    first: int
    last: int
    low: int
    high: int
    tiles: list[tuple[int, int]]


class Plan(NamedTuple):
    """The chunks of a graph for one width of layer, its largest in-degree, and its edges as the kernels read them."""

    chunks: list[Chunk]
    largest_degree: int
    rowptr: Ints
    senders: npt.NDArray[np.int32]


def _cut(rowptr: Ints, senders: npt.NDArray[np.int32], num_senders: int, cost: Cost) -> list[Chunk]:
    """Chunks of nearly equal work, at most ``MAX_CHUNKS``, few enough for their sender buffers."""
    num_receivers = rowptr.size - 1
    work = cost.per_receiver * np.arange(num_receivers + 1) + cost.per_edge * rowptr
    room = min(BUFFER_COPIES * num_senders, BUFFER_FLOATS // cost.sender_floats)
    count = 1
    while count < MAX_CHUNKS and count * CHUNK_WORK < work[-1]:
        count *= 2
    while True:
        borders = np.searchsorted(work, np.arange(1, count) * (work[-1] / count)).tolist()
        chunks = []
        for first, last in pairwise([0, *borders, num_receivers]):
            if first < last:
                own = senders[rowptr[first] : rowptr[last]]
                low, high = (int(own.min()), int(own.max()) + 1) if own.size else (0, 0)
                chunks.append(Chunk(first, last, low, high, _tiles(first, last, cost.tile_floats)))
        if count <= 2 or sum(chunk.high - chunk.low for chunk in chunks) <= room:
            return chunks
        count //= 2


def _tiles(first: int, last: int, floats_per_receiver: int) -> list[tuple[int, int]]:
    """Tiles of nearly equal size."""
    if not floats_per_receiver:
        return [(first, last)]
    count = -(-(last - first) // max(16, TILE_FLOATS // floats_per_receiver))
    step = -(-(last - first) // count)
    return [(lo, min(lo + step, last)) for lo in range(first, last, step)]


class _Known(NamedTuple):
    rowptr: weakref.ref[Tensor]
    sender: weakref.ref[Tensor]
    num_senders: int
    seen: Seen
    plan: Plan


class _PlanCache:
    """Plans by identity of the CSR tensors; an entry dies with them or an in-place change."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, ...], _Known] = {}

    def get(self, rowptr: Tensor, sender: Tensor, num_senders: int, cost: Cost) -> Plan:
        place = (id(rowptr), id(sender), *cost)
        if rowptr.is_inference() or sender.is_inference():  # those have no version to tell a change by
            return _make(rowptr, sender, num_senders, cost)
        known = self._entries.get(place)
        if known is not None and known.num_senders == num_senders:
            same = known.rowptr() is rowptr and known.sender() is sender
            if same and known.seen.fits(rowptr, sender):
                return known.plan
        plan = _make(rowptr, sender, num_senders, cost)
        reference = weakref.ref(rowptr, lambda _: self._entries.pop(place, None))
        self._entries[place] = _Known(reference, weakref.ref(sender), num_senders, Seen(rowptr, sender), plan)
        return plan


def _make(rowptr: Tensor, sender: Tensor, num_senders: int, cost: Cost) -> Plan:
    check_csr(rowptr, sender, num_senders)
    # Copies, checked again: no kernel reads an index that someone else can still write.
    rows: Ints = np.array(rowptr.numpy(), dtype=np.int64)
    senders = np.array(sender.numpy(), dtype=np.int32)
    check_csr(torch.from_numpy(rows), torch.from_numpy(senders), num_senders)
    largest_degree = int(np.diff(rows).max()) if rows.size > 1 else 0
    return Plan(_cut(rows, senders, num_senders, cost), largest_degree, rows, senders)


_cache = _PlanCache()


def plan_for(graph: ReceiverCSR, num_senders: int, cost: Cost) -> Plan:
    """The plan of a graph for one kind of layer; made once per graph and width.

    Raises ``UserError`` where ``rowptr`` or ``sender`` do not describe a graph: no kernel runs before this.
    """
    return _cache.get(graph.rowptr, graph.sender, num_senders, cost)
