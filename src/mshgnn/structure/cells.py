r"""Cell complexes of a graph: what is above nodes and edges, and which faces it has.

A lifting gives cells of dimension 1, 2, ..., each with its nodes and with its faces, cells one dimension below; cells
of dimension 0 are the nodes. For each dimension ``p`` there are three lists:

- ``cell{p}``: the cells; ``cell{p}_size`` is the number of their nodes.
- ``corner{p}``: one row per cell and node in it, ``corner{p}_cell`` and ``corner{p}_node``.
- ``face{p}``: one row per cell and face of it, ``face{p}_cell`` and ``face{p}_of``, a cell of dimension ``p - 1``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import NamedTuple

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.machine import check_memory
from mshgnn.structure.kind import Structure
from mshgnn.structure.ragged import NODE, Ragged
from mshgnn.structure.simple_graph import simple_graph
from mshgnn.structure.substructures import copies, ring_edges

BYTES_PER_CELL = 500
"""Of the Python objects of a cell while its complex is made; the tensors take less."""

FOUND = "cells found"

Nodes = tuple[int, ...]


class Cells(NamedTuple):
    """The cells of one dimension: their nodes, and the nodes of their faces."""

    nodes: Sequence[Nodes]
    faces: Sequence[Sequence[Nodes]]


def clique_complex(dimension: int) -> Structure:
    """Cells of dimension ``p`` are the cliques of ``p + 1`` nodes, up to ``dimension``; faces leave one node out."""
    return Structure(
        f"cliques-{dimension}", partial(_complex, lift=_cliques, dimension=dimension, bound=dimension + 1), FOUND
    )


def ring_complex(largest: int) -> Structure:
    """Nodes, edges, and rings: the cycles without a chord of 3 to ``largest`` nodes, whose faces are their edges."""
    return Structure(f"rings-{largest}", partial(_complex, lift=_rings, dimension=2, bound=largest), FOUND)


def path_complex(dimension: int) -> Structure:
    """Cells of dimension ``p`` are the simple paths of ``p`` edges, either direction being the same path.

    Faces leave one node out where that leaves a path: an end always, an inner node if its neighbours are adjacent.
    """
    return Structure(f"paths-{dimension}", partial(_complex, lift=_paths, dimension=dimension, bound=dimension), FOUND)


def _complex(
    graph: Data, lift: Callable[[nx.Graph, int], Sequence[Cells]], dimension: int, bound: int
) -> dict[str, Ragged]:
    simple = simple_graph(graph)
    lists: dict[str, Ragged] = {}
    below: dict[Nodes, int] = {(v,): v for v in simple}
    levels = [_edges(simple), *lift(simple, bound)]
    for p, cells in enumerate(levels[:dimension], start=1):
        corner = [(number, v) for number, nodes in enumerate(cells.nodes) for v in nodes]
        face = [(number, below[face]) for number, faces in enumerate(cells.faces) for face in faces]
        corner_cell, corner_node = _columns(corner)
        face_cell, face_of = _columns(face)
        size = torch.tensor([len(nodes) for nodes in cells.nodes], dtype=torch.long)
        lists |= {
            f"cell{p}_size": Ragged(size, f"cell{p}"),
            f"corner{p}_cell": Ragged(corner_cell, f"corner{p}", f"cell{p}"),
            f"corner{p}_node": Ragged(corner_node, f"corner{p}", NODE),
            f"face{p}_cell": Ragged(face_cell, f"face{p}", f"cell{p}"),
            f"face{p}_of": Ragged(face_of, f"face{p}", f"cell{p - 1}" if p > 1 else NODE),
        }
        below = {nodes: number for number, nodes in enumerate(cells.nodes)}
    return lists


def _edges(graph: nx.Graph) -> Cells:
    nodes = sorted((min(edge), max(edge)) for edge in graph.edges)
    return Cells(nodes, [[(u,), (v,)] for u, v in nodes])


def _cliques(graph: nx.Graph, largest: int) -> list[Cells]:
    """Cliques of 3, ..., ``largest`` nodes."""
    found: list[list[Nodes]] = [[] for _ in range(3, largest + 1)]
    if found:
        for number, clique in enumerate(copies(graph, "cliques", largest)):
            _check(graph, "cliques", number)
            found[len(clique) - 3].append(tuple(sorted(clique)))
    return [Cells(cliques, [list(combinations(nodes, len(nodes) - 1)) for nodes in cliques]) for cliques in found]


def _rings(graph: nx.Graph, largest: int) -> list[Cells]:
    rings = []
    for number, ring in enumerate(copies(graph, "induced-cycles", largest)):
        _check(graph, "rings", number)
        rings.append(ring)
    return [Cells(rings, [ring_edges(ring) for ring in rings])]


def _paths(graph: nx.Graph, longest: int) -> list[Cells]:
    """Paths of 2, ..., ``longest`` edges, each made longer by one node at its end."""
    levels = []
    if longest > 1:
        _check(graph, "paths", sum(comb(degree, 2) for _, degree in graph.degree))
    walks: list[Nodes] = [walk for edge in graph.edges for walk in (edge, edge[::-1])]
    for _ in range(1, longest):
        longer: list[Nodes] = []
        for walk in walks:
            longer += [(*walk, v) for v in graph[walk[-1]] if v not in walk]
            _check(graph, "paths", len(longer) // 2)
        walks = longer
        paths = sorted(walk for walk in walks if walk[0] < walk[-1])
        levels.append(Cells(paths, [_shorter(graph, path) for path in paths]))
    return levels


def _shorter(graph: nx.Graph, path: Nodes) -> list[Nodes]:
    """The paths that one node less leaves, as they are kept: the smaller end first."""
    made = [path[1:], path[:-1]]
    for place in range(1, len(path) - 1):
        if graph.has_edge(path[place - 1], path[place + 1]):
            made.append(path[:place] + path[place + 1 :])
    return [nodes if nodes[0] < nodes[-1] else nodes[::-1] for nodes in made]


def _check(graph: nx.Graph, what: str, count: int) -> None:
    check_memory(f"the complex of a graph of {len(graph):,} nodes with {count:,} {what}", BYTES_PER_CELL * count)


def _columns(pairs: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    rows = torch.tensor(pairs, dtype=torch.long).view(-1, 2)
    return rows[:, 0].contiguous(), rows[:, 1].contiguous()
