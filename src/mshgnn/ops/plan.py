"""How the receivers of a graph are cut into chunks and tiles: a property of the graph, not of the machine's threads."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from mshgnn.ops.csr import check_csr

MAX_CHUNKS = 16
CHUNK_WORK = 2**25  # multiply-adds of a forward pass that are worth a chunk of their own
TILE_FLOATS = 2**18  # numbers of F_v in one tile: 1 MB, half of a usual second-level cache
BUFFER_FLOATS = 2**29  # the sender gradients of all chunks together: 2 GB

Ints = npt.NDArray[np.int64]


class Chunk(NamedTuple):
    """Receivers ``first <= v < last``, whose senders lie in ``low <= u < high``."""

    first: int
    last: int
    low: int
    high: int


class Plan(NamedTuple):
    """The chunks of a graph for one width of layer, its largest in-degree, and its edges as the kernels read them."""

    chunks: list[Chunk]
    largest_degree: int
    rowptr: Ints
    senders: npt.NDArray[np.int32]


def _cut(rowptr: Ints, sender: npt.NDArray[np.int32], node_work: int, edge_work: int, sender_width: int) -> list[Chunk]:
    """Chunks of nearly equal work, at most ``MAX_CHUNKS``, few enough for their sender buffers."""
    num_receivers = rowptr.size - 1
    work = node_work * np.arange(num_receivers + 1) + edge_work * rowptr
    count = 1
    while count < MAX_CHUNKS and count * CHUNK_WORK < work[-1]:
        count *= 2
    while True:
        borders = np.searchsorted(work, np.arange(1, count) * (work[-1] / count))
        borders = np.concatenate([[0], borders, [num_receivers]])
        chunks = []
        for first, last in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            if first < last:
                senders = sender[rowptr[first] : rowptr[last]]
                low, high = (int(senders.min()), int(senders.max()) + 1) if senders.size else (0, 0)
                chunks.append(Chunk(first, last, low, high))
        if count <= 2 or sum(chunk.high - chunk.low for chunk in chunks) * sender_width <= BUFFER_FLOATS:
            return chunks
        count //= 2


class _Known(NamedTuple):
    rowptr: weakref.ref[Tensor]
    sender: weakref.ref[Tensor]
    key: tuple[int, ...]
    plan: Plan


class _PlanCache:
    """Plans by identity of the CSR tensors; an entry dies with them or an in-place change."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, ...], _Known] = {}

    def get(self, rowptr: Tensor, sender: Tensor, num_senders: int, widths: tuple[int, int, int]) -> Plan:
        place = (id(rowptr), id(sender), *widths)
        inference = rowptr.is_inference() or sender.is_inference()
        key = (num_senders,) if inference else (num_senders, rowptr._version, sender._version)
        known = self._entries.get(place)
        if known is not None and known.key == key and known.rowptr() is rowptr and known.sender() is sender:
            return known.plan
        check_csr(rowptr, sender, num_senders)
        plan = _make(rowptr, sender, *widths)
        if not inference:  # those have no version to tell a change by
            reference = weakref.ref(rowptr, lambda _: self._entries.pop(place, None))
            self._entries[place] = _Known(reference, weakref.ref(sender), key, plan)
        return plan


def _make(rowptr: Tensor, sender: Tensor, receiver_width: int, sender_width: int, num_projections: int) -> Plan:
    rows: Ints = np.ascontiguousarray(rowptr.numpy(), dtype=np.int64)
    senders = np.ascontiguousarray(sender.numpy(), dtype=np.int32)
    edge_work = sender_width * num_projections
    chunks = _cut(rows, senders, edge_work * receiver_width, edge_work, sender_width)
    return Plan(chunks, int(np.diff(rows).max()) if rows.size > 1 else 0, rows, senders)


_cache = _PlanCache()


def plan_for(rowptr: Tensor, sender: Tensor, num_senders: int, widths: tuple[int, int, int]) -> Plan:
    """The plan of a checked CSR for ``widths = (d_r, d_s, F)``; made once per graph and width.

    Raises ``ValueError`` where ``rowptr`` or ``sender`` do not describe a graph: no kernel runs before this.
    """
    return _cache.get(rowptr, sender, num_senders, widths)


def tiles(chunk: Chunk, floats_per_receiver: int) -> list[tuple[int, int]]:
    """Equal tiles of receivers that fit the cache."""
    receivers = chunk.last - chunk.first
    size = max(16, TILE_FLOATS // floats_per_receiver)
    count = -(-receivers // size)
    step = -(-receivers // count)
    return [(lo, min(lo + step, chunk.last)) for lo in range(chunk.first, chunk.last, step)]
