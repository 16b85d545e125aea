"""What a model can tell apart at best: colour refinement, of nodes, of pairs of nodes or of cells.

An item has a colour and hears tuples of items, each under a mark. In a round its colour becomes its old one with the
multiset of the marks and colours it hears. No model whose messages go the same ways can see more than the final
colours. Everything here is written from the definitions with networkx, and with nothing that a model uses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeVar

import networkx as nx

Cell = TypeVar("Cell", bound=Hashable)
Heard = tuple[Hashable, tuple[Hashable, ...]]
"""A mark, and the items whose colours come with it."""


@dataclass(frozen=True)
class Items:
    """What is coloured in one graph: first colours, and what each item hears."""

    start: dict[Hashable, Hashable]
    heard: dict[Hashable, list[Heard]]


View = Callable[[nx.Graph], Items]


def told_apart(view: View, graphs: Sequence[nx.Graph]) -> list[int]:
    """The class of every graph: two that refinement cannot tell apart have the same."""
    seen = [view(graph) for graph in graphs]
    colours: list[dict[Hashable, int]] = _named([one.start for one in seen])
    known = 0
    while known < (known := len({colour for graph in colours for colour in graph.values()})):
        (classes,) = _named([dict(enumerate(tuple(sorted(colour.values())) for colour in colours))])
        if len({*classes.values()}) == len(graphs):  # no round can bring them together again
            break
        colours = _named([_round(one, colour) for one, colour in zip(seen, colours, strict=True)])
    return list(classes.values())


def _round(items: Items, colour: dict[Hashable, int]) -> dict[Hashable, Hashable]:
    """What becomes the next colour of every item: its own with all it hears, in order."""
    return {
        item: (own, tuple(sorted((mark, *[colour[other] for other in others]) for mark, others in items.heard[item])))
        for item, own in colour.items()
    }


def _named(graphs: Sequence[dict[Hashable, Hashable]]) -> list[dict[Hashable, int]]:
    """Numbers for all that occurs, the same number for the same in every graph."""
    names: dict[Hashable, int] = {}
    return [{item: names.setdefault(value, len(names)) for item, value in graph.items()} for graph in graphs]


def nodes(graph: nx.Graph) -> Items:
    """1-WL: a node hears its neighbours."""
    return Items(dict.fromkeys(graph, 0), {v: [(0, (u,)) for u in graph[v]] for v in graph})


def pairs(graph: nx.Graph) -> Items:
    """3-WL in its folklore form: a pair ``(u, v)`` hears all ``(u, w), (w, v)`` together."""
    start: dict[Hashable, Hashable] = {(u, v): (u == v) + 2 * graph.has_edge(u, v) for u in graph for v in graph}
    return Items(start, {(u, v): [(0, ((u, w), (w, v))) for w in graph] for u in graph for v in graph})


def edges_in_cycles(largest: int) -> View:
    """A node hears its neighbours, each with the number of cycles of every length through the edge between them."""

    def view(graph: nx.Graph) -> Items:
        count = {frozenset(edge): [0] * (largest + 1) for edge in graph.edges}
        for cycle in nx.simple_cycles(graph, length_bound=largest):
            for edge in pairwise([*cycle, cycle[0]]):
                count[frozenset(edge)][len(cycle)] += 1
        heard: dict[Hashable, list[Heard]] = {
            v: [(tuple(count[frozenset((u, v))]), (u,)) for u in graph[v]] for v in graph
        }
        return Items(dict.fromkeys(graph, 0), heard)

    return view


def cliques(dimension: int) -> View:
    """Cells are the cliques of at most ``dimension + 1`` nodes."""

    def view(graph: nx.Graph) -> Items:
        found = [frozenset(c) for c in nx.enumerate_all_cliques(graph) if len(c) <= dimension + 1]
        return _cells({c: [c - {v} for v in c] if len(c) > 1 else [] for c in found}, lambda c: len(c) - 1)

    return view


def rings(largest: int) -> View:
    """Cells are nodes, edges and the cycles without a chord of at most ``largest`` nodes."""

    def view(graph: nx.Graph) -> Items:
        faces: dict[frozenset[int], list[frozenset[int]]] = {frozenset([v]): [] for v in graph}
        faces |= {frozenset(edge): [frozenset([v]) for v in edge] for edge in graph.edges}
        for cycle in nx.chordless_cycles(graph, length_bound=largest):
            faces[frozenset(cycle)] = [frozenset(edge) for edge in pairwise([*cycle, cycle[0]])]
        return _cells(faces, lambda c: min(len(c) - 1, 2))

    return view


def paths(longest: int) -> View:
    """Cells are the simple paths of at most ``longest`` edges; faces leave one node out where a path is left."""

    def view(graph: nx.Graph) -> Items:
        ends: list[tuple[int, ...]] = [(v,) for v in graph]
        found = [*ends]
        for _ in range(longest):
            ends = [(*path, v) for path in ends for v in graph[path[-1]] if v not in path]
            found += [path for path in ends if path[0] < path[-1]]
        known = {*found}
        faces = {
            path: [
                way
                for left in combinations(path, len(path) - 1)
                if len(path) > 1
                for way in {left, left[::-1]}
                if way in known
            ]
            for path in found
        }
        return _cells(faces, lambda path: len(path) - 1)

    return view


def _cells(faces: dict[Cell, list[Cell]], dimension: Callable[[Cell], int]) -> Items:
    """A cell hears its faces, and the other faces of each cell above it together with that cell."""
    heard: dict[Hashable, list[Heard]] = {cell: [(0, (face,)) for face in below] for cell, below in faces.items()}
    for above, below in faces.items():
        for face, other in ((a, b) for a in below for b in below if a != b):
            heard[face].append((1, (other, above)))
    return Items({cell: dimension(cell) for cell in faces}, heard)
