"""Edges sorted by receiver on the disk: a counting sort that keeps neither the edges nor their order in memory."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mshgnn.compiled import compiled
from mshgnn.data.dataset import DataError
from mshgnn.data.mapped import MappedArray
from mshgnn.data.sampling import Ints

CHUNK = 2**22
"""Edges that are read at once."""


def count_senders(edge_index: MappedArray, num_nodes: int) -> tuple[Ints, bool]:
    """``rowptr [N + 1]`` of edges ``[2, M]`` in any order, and whether they are sorted; every index is checked."""
    rowptr = np.zeros(num_nodes + 1, dtype=np.int64)
    is_sorted, last = True, -1
    for begin, end in _chunks(edge_index):
        senders, receivers = edge_index.values[0, begin:end], edge_index.values[1, begin:end]
        for ends in (senders, receivers):
            low, high = int(ends.min()), int(ends.max())
            if low < 0 or high >= num_nodes:
                wrong = low if low < 0 else high
                raise DataError(f"{edge_index.path}: node {wrong} is not in 0..{num_nodes - 1}, as x has them")
        is_sorted = _count(receivers, rowptr, last) and is_sorted  # every chunk is counted, also after an unsorted one
        last = int(receivers[-1])
        edge_index.forget()
    np.cumsum(rowptr, out=rowptr)
    return rowptr, is_sorted


def sort_on_disk(edge_index: MappedArray, rowptr: Ints, path: Path, *, buckets: int) -> MappedArray:
    """The edges in receiver order, written to ``path`` as ``[2, M]``; edges of one receiver keep their order.

    Receivers are taken in ``buckets`` of about equally many edges, and each pass over the edges writes those of one
    bucket. So the places that are written lie close together, however much larger than memory the file is.
    """
    num_edges, num_nodes = int(rowptr[-1]), rowptr.size - 1
    temporary = path.with_name(f"{path.name}.writing")
    out = MappedArray.create(temporary, (2, num_edges), edge_index.values.dtype)
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
    os.replace(temporary, path)
    return MappedArray(path)


def _chunks(edge_index: MappedArray) -> list[tuple[int, int]]:
    num_edges = edge_index.values.shape[1]
    return [(begin, min(begin + CHUNK, num_edges)) for begin in range(0, num_edges, CHUNK)]


@compiled(nogil=True)
def _count(receivers, rowptr, last):
    """Count every receiver behind its place; tells whether none is smaller than the one before."""
    rising = True
    for receiver in receivers:
        rowptr[receiver + 1] += 1
        rising &= receiver >= last
        last = receiver
    return rising


@compiled(nogil=True)
def _deal(edges, first, last, free, out) -> None:
    """Put the senders to receivers ``first <= v < last`` where they belong."""
    for edge in range(edges.shape[1]):
        receiver = edges[1, edge]
        if first <= receiver < last:
            out[0, free[receiver]] = edges[0, edge]
            free[receiver] += 1
