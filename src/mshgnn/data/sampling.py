"""Parts of a large graph in receiver order: neighbourhoods, drawn or whole, and the edges among given nodes.

The graph is two arrays, in memory or mapped from the disk: the senders of receiver ``v`` are
``sender[rowptr[v] : rowptr[v + 1]]``.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mshgnn.compiled import compiled
from mshgnn.errors import UserError

Ints = npt.NDArray[np.int64]
Senders = npt.NDArray[np.int32] | npt.NDArray[np.int64]

ALL = -1
"""Every neighbour instead of so many of them."""


class Subgraph(NamedTuple):
    """Nodes of a graph and edges among them, in numbers of their own.

    Edges are sorted by receiver; nodes and edges of fewer hops come first (see ``Neighbourhood``).
    Shapes: ``nodes [n]``, ``sender [m]``, ``receiver [m]``, ``position [m]``: which edge of the graph each one is.
    """

    nodes: Ints
    sender: Ints
    receiver: Ints
    position: Ints
    node_counts: tuple[int, ...]
    edge_counts: tuple[int, ...]


class Sampler:
    """Takes parts of one graph; the same ``seed`` draws the same parts in the same order.

    Args:
        rowptr: where the senders of each receiver begin ``[N + 1]``.
        sender: of every edge ``[M]``.
        replace: draw with replacement: a sender may be drawn twice, and counts twice.
        seed: of the draws.
    """

    def __init__(self, rowptr: Ints, sender: Senders, *, replace: bool = False, seed: int = 0) -> None:
        self.rowptr, self.sender, self.replace = rowptr, sender, replace
        self._state = np.array([seed], dtype=np.uint64)
        self._place = np.full(rowptr.size - 1, -1, dtype=np.int32)  # in the part at hand; -1: not in it

    def reseed(self, seed: int) -> None:
        """Begin the draws anew."""
        self._state[0] = seed

    def around(self, targets: Ints, counts: Sequence[int]) -> Subgraph:
        """The targets with ``counts[k]`` senders of every node that is ``k`` hops away, drawn uniformly.

        A node that has no more senders than that gives all of them, once; with replacement it is drawn from, too.
        """
        self._check(targets)
        nodes, self._place[targets] = targets, np.arange(targets.size, dtype=np.int32)
        node_counts, edge_counts, found = [targets.size], [], []
        first = edges = 0
        try:
            for count in counts:
                room = _edges_of(self.rowptr, nodes[first:], count, self.replace)
                hop = np.empty((3, room), dtype=np.int64)
                grown = np.empty(nodes.size + room, dtype=np.int64)
                grown[: nodes.size] = nodes
                size = _draw(
                    self.rowptr,
                    self.sender,
                    grown,
                    first,
                    nodes.size,
                    count,
                    self.replace,
                    self._state,
                    self._place,
                    hop,
                )
                first, nodes = nodes.size, grown[:size]
                edges += room
                found.append(hop)
                node_counts.append(size)
                edge_counts.append(edges)
        finally:
            self._place[nodes] = -1
        sender, receiver, position = np.concatenate(found, axis=1) if found else np.empty((3, 0), dtype=np.int64)
        return Subgraph(nodes, sender, receiver, position, tuple(node_counts), tuple(edge_counts))

    def among(self, nodes: Ints) -> Subgraph:
        """The given nodes with all edges among them."""
        self._check(nodes)
        self._place[nodes] = np.arange(nodes.size, dtype=np.int32)
        try:
            room = _count_among(self.rowptr, self.sender, nodes, self._place)
            edges = np.empty((3, room), dtype=np.int64)
            _fill_among(self.rowptr, self.sender, nodes, self._place, edges)
        finally:
            self._place[nodes] = -1
        sender, receiver, position = edges
        return Subgraph(nodes, sender, receiver, position, (nodes.size,), (room,))

    def _check(self, nodes: Ints) -> None:
        """The kernels read and write without looking."""
        if nodes.size and not (int(nodes.min()) >= 0 and int(nodes.max()) < self._place.size):
            raise UserError(f"nodes must lie in 0..{self._place.size - 1}, got {int(nodes.min())}..{int(nodes.max())}")
        if np.unique(nodes).size != nodes.size:
            raise UserError("a node is given twice")


@compiled(nogil=True)
def _edges_of(rowptr, nodes, count, replace) -> Any:
    """How many edges are drawn for the nodes."""
    total = 0
    for v in nodes:
        degree = rowptr[v + 1] - rowptr[v]
        if count < 0 or (degree < count and not replace):
            total += degree
        elif degree > 0:
            total += count
    return total


@compiled(nogil=True)
def _draw(rowptr, sender, nodes, first, last, count, replace, state, place, hop) -> Any:
    """Draw for ``nodes[first:last]``, append new nodes behind ``last``, fill ``hop``; returns how many nodes there are.

    Without replacement by Floyd's algorithm: for ``j`` from ``degree - count`` on, a random one of ``0..j``, or ``j``
    itself where that is drawn already. Every set of ``count`` senders is equally likely.
    """
    size, edge = last, 0
    for receiver in range(first, last):
        begin = rowptr[nodes[receiver]]
        degree = rowptr[nodes[receiver] + 1] - begin
        whole = count < 0 or (degree <= count and not replace)
        number = degree if whole else (count if degree > 0 else 0)
        start = edge
        for draw in range(number):
            if whole:
                chosen = begin + draw
            else:
                bound = degree if replace else degree - number + draw + 1
                # splitmix64
                state[0] += np.uint64(0x9E3779B97F4A7C15)
                z = state[0]
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                z = z ^ (z >> np.uint64(31))
                chosen = begin + np.int64(z % np.uint64(bound))
                if not replace:
                    for other in range(start, edge):
                        if hop[2, other] == chosen:
                            chosen = begin + bound - 1
                            break
            u = sender[chosen]
            if place[u] < 0:
                place[u] = size
                nodes[size] = u
                size += 1
            hop[0, edge] = place[u]
            hop[1, edge] = receiver
            hop[2, edge] = chosen
            edge += 1
    return size


@compiled(nogil=True)
def _count_among(rowptr, sender, nodes, place) -> Any:
    total = 0
    for v in nodes:
        for edge in range(rowptr[v], rowptr[v + 1]):
            if place[sender[edge]] >= 0:
                total += 1
    return total


@compiled(nogil=True)
def _fill_among(rowptr, sender, nodes, place, edges) -> None:
    found = 0
    for receiver in range(nodes.size):
        for edge in range(rowptr[nodes[receiver]], rowptr[nodes[receiver] + 1]):
            if place[sender[edge]] >= 0:
                edges[0, found] = place[sender[edge]]
                edges[1, found] = receiver
                edges[2, found] = edge
                found += 1
