"""A large graph cut into parts of nearly equal size with few edges between them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

import numpy as np

from mshgnn.compiled import compiled
from mshgnn.data.sampling import Ints, Senders
from mshgnn.errors import UserError

Partitioner = Literal["growing", "metis"]

ROUNDS = 10
"""Passes over the edges in which nodes move to where most of their neighbours are."""
SLACK = 1.1
"""The largest part may have so many times the average number of nodes."""


def partition(rowptr: Ints, sender: Senders, num_parts: int, by: Partitioner = "growing") -> Ints:
    """The part of every node, ``[N]``, in ``0..num_parts - 1``.

    ``growing``: parts are grown one after the other, breadth first, and nodes then move to the part that most of their
    senders are in, as long as it has room (label propagation). ``metis``: by METIS, through the package pymetis (2025.2
    or later). Either way the same graph has the same parts; what is installed does not choose.
    """
    num_nodes = rowptr.size - 1
    if not 1 <= num_parts <= max(num_nodes, 1):
        raise UserError(f"a graph of {num_nodes:,} nodes cannot be cut into {num_parts:,} parts")
    if num_parts == 1:
        return np.zeros(num_nodes, dtype=np.int64)
    return (by_metis if by == "metis" else by_growing)(rowptr, sender, num_parts)


def by_metis(rowptr: Ints, sender: Senders, num_parts: int) -> Ints:
    """METIS's cut. METIS needs every edge both ways, once, and no loops: so the edges are given to it."""
    if not find_spec("pymetis"):
        raise UserError("partitioner metis needs pymetis (2025.2 or later): pip install pymetis; or take 'growing'")
    import pymetis  # type: ignore[import-not-found, unused-ignore]

    if not hasattr(pymetis, "CSRAdjacency"):
        raise UserError("pymetis is too old: update it to 2025.2 or later; or take partitioner 'growing'")
    num_nodes = rowptr.size - 1
    receiver, other = np.repeat(np.arange(num_nodes), np.diff(rowptr)), np.asarray(sender, dtype=np.int64)
    receiver, other = receiver[receiver != other], other[receiver != other]
    firsts, seconds = np.divmod(np.unique(np.r_[receiver * num_nodes + other, other * num_nodes + receiver]), num_nodes)
    starts = np.searchsorted(firsts, np.arange(num_nodes + 1))
    _, parts = pymetis.part_graph(num_parts, pymetis.CSRAdjacency(starts, seconds))
    return np.asarray(parts, dtype=np.int64)


def by_growing(rowptr: Ints, sender: Senders, num_parts: int) -> Ints:
    """Breadth first, then label propagation; a pass reads the edges once, in their order, which suits a disk."""
    num_nodes = rowptr.size - 1
    parts = np.full(num_nodes, -1, dtype=np.int64)
    sizes = np.zeros(num_parts, dtype=np.int64)
    _grow(rowptr, sender, parts, sizes)
    most = max(int(SLACK * num_nodes / num_parts), -(-num_nodes // num_parts))
    votes = np.zeros(num_parts, dtype=np.int64)
    for _ in range(ROUNDS):
        if not _move(rowptr, sender, parts, sizes, most, votes):
            break
    return parts


@compiled(nogil=True)
def _grow(rowptr, sender, parts, sizes) -> None:
    """Give every node a part: nodes reached from the first one that has none, until the part is full."""
    num_nodes, num_parts = parts.size, sizes.size
    queue = np.empty(num_nodes, dtype=np.int64)
    next_free = 0
    for part in range(num_parts):
        # what is left, shared evenly among the parts that are left
        full = (num_nodes * (part + 1)) // num_parts - (num_nodes * part) // num_parts
        head = tail = 0
        while sizes[part] < full:
            if head == tail:
                while parts[next_free] >= 0:
                    next_free += 1
                parts[next_free] = part
                sizes[part] += 1
                queue[tail] = next_free
                tail += 1
                continue
            v = queue[head]
            head += 1
            for edge in range(rowptr[v], rowptr[v + 1]):
                u = sender[edge]
                if parts[u] < 0 and sizes[part] < full:
                    parts[u] = part
                    sizes[part] += 1
                    queue[tail] = u
                    tail += 1


@compiled(nogil=True)
def _move(rowptr, sender, parts, sizes, most, votes):
    """One pass: every node goes where most of its senders are, if there is room; returns how many went."""
    moved = 0
    for v in range(parts.size):
        own = parts[v]
        if sizes[own] == 1:
            continue  # no part ends empty
        best = own
        for edge in range(rowptr[v], rowptr[v + 1]):
            if sender[edge] != v:
                votes[parts[sender[edge]]] += 1
        for edge in range(rowptr[v], rowptr[v + 1]):
            part = parts[sender[edge]]
            if votes[part] > votes[best] and sizes[part] < most:
                best = part
        for edge in range(rowptr[v], rowptr[v + 1]):
            votes[parts[sender[edge]]] = 0
        if best != own:
            parts[v] = best
            sizes[own] -= 1
            sizes[best] += 1
            moved += 1
    return moved
