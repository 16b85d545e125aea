"""Edges sorted by receiver on the disk: a counting sort that keeps neither the edges nor their order in memory."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mshgnn.compiled import compiled
from mshgnn.data.dataset import DataError
from mshgnn.data.mapped import MappedArray, made_beside
from mshgnn.data.sampling import Ints

CHUNK = 2**22
"""Edges that are read at once."""


class Counted(NamedTuple):
    """What one pass over the edges ``[2, M]`` finds."""

    rowptr: Ints
    """Where the edges of every receiver begin once they are sorted ``[N + 1]``."""
    is_sorted: bool
    content: int
    """A sum over the edges that is the same for two files just where sorting them gives the same edges, but for a
    chance of one in 2^64: each adds a number made of sender, receiver and its place among those of the receiver."""


def count_senders(edge_index: MappedArray, num_nodes: int) -> Counted:
    """Count the edges of every receiver, in any order; every index is checked."""
    rowptr = np.zeros(num_nodes + 1, dtype=np.int64)
    is_sorted, last, content = True, -1, 0
    for begin, end in _chunks(edge_index):
        senders, receivers = edge_index.values[0, begin:end], edge_index.values[1, begin:end]
        for ends in (senders, receivers):
            low, high = int(ends.min()), int(ends.max())
            if low < 0 or high >= num_nodes:
                wrong = low if low < 0 else high
                raise DataError(f"{edge_index.path}: node {wrong} is not in 0..{num_nodes - 1}, as x has them")
        rising, found = _count(senders, receivers, rowptr, last)
        is_sorted, content = rising and is_sorted, (content + int(found)) % 2**64
        last = int(receivers[-1])
        edge_index.forget()
    np.cumsum(rowptr, out=rowptr)
    return Counted(rowptr, is_sorted, content)


def sort_on_disk(edge_index: MappedArray, rowptr: Ints, path: Path, *, buckets: int) -> MappedArray:
    """The edges in receiver order, written to ``path`` as ``[2, M]``; edges of one receiver keep their order.

    Receivers are taken in ``buckets`` of about equally many edges, and each pass over the edges writes those of one
    bucket. So the places that are written lie close together, however much larger than memory the file is.
    """
    with made_beside(path) as temporary:
        _sort_into(temporary, edge_index, rowptr, buckets)
    return MappedArray.open(path)


def _sort_into(file: Path, edge_index: MappedArray, rowptr: Ints, buckets: int) -> None:
    num_edges, num_nodes = int(rowptr[-1]), rowptr.size - 1
    out = MappedArray.create(file, (2, num_edges), edge_index.values.dtype)
    free = rowptr[:-1].copy()
    bounds = np.searchsorted(rowptr, np.arange(1, buckets) * (num_edges / buckets)).tolist()
    first = 0
    for last in [*bounds, num_nodes]:
        if last > first:
            for begin, end in _chunks(edge_index):
                _deal(edge_index.values[:, begin:end], first, last, free, out.values)
                edge_index.forget()
            out.values[1, rowptr[first] : rowptr[last]] = np.repeat(
                np.arange(first, last, dtype=out.values.dtype), np.diff(rowptr[first : last + 1])
            )
            out.forget()
            first = last


def _chunks(edge_index: MappedArray) -> list[tuple[int, int]]:
    num_edges = edge_index.values.shape[1]
    return [(begin, min(begin + CHUNK, num_edges)) for begin in range(0, num_edges, CHUNK)]


@compiled(nogil=True)
def _count(senders, receivers, rowptr, last):
    """Count every receiver behind its place; whether none is smaller than the one before, and their ``content``."""
    rising, content = True, np.uint64(0)
    for edge in range(receivers.size):
        receiver = receivers[edge]
        mixed = np.uint64(senders[edge]) * np.uint64(0x9E3779B97F4A7C15)
        mixed += np.uint64(receiver) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed += np.uint64(rowptr[receiver + 1]) * np.uint64(0x165667B19E3779F9)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        content += mixed ^ (mixed >> np.uint64(29))
        rowptr[receiver + 1] += 1
        rising &= receiver >= last
        last = receiver
    return rising, content


@compiled(nogil=True)
def _deal(edges, first, last, free, out) -> None:
    """Put the senders to receivers ``first <= v < last`` where they belong."""
    for edge in range(edges.shape[1]):
        receiver = edges[1, edge]
        if first <= receiver < last:
            out[0, free[receiver]] = edges[0, edge]
            free[receiver] += 1
