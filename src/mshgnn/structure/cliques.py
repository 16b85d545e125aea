r"""How many cliques hold a node or an edge, counted without listing them.

A clique of :math:`k` nodes that holds ``v`` is one of :math:`k - 1` nodes among the neighbours of ``v``; one that holds
``uv`` is one of :math:`k - 2` nodes among their common neighbours. A graph with adjacency :math:`A` has
:math:`\mathrm{tr}(A^3) / 6` triangles, and a clique of :math:`k` nodes is counted :math:`k` times around its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mshgnn.machine import check_memory


def larger_cliques(graph: nx.Graph, cliques: Iterable[Sequence[int]], most: int) -> list[list[int]]:
    """For each of the ``cliques``: how many cliques hold it and have 1, ..., ``most`` nodes more."""
    check_memory(f"cliques of {len(graph):,} nodes", len(graph) ** 2)
    adjacent = nx.to_numpy_array(graph, nodelist=range(len(graph)), dtype=np.bool_)
    return [_numbers(_among(adjacent, adjacent[list(clique)].all(axis=0)), most) for clique in cliques]


def _among(adjacent: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The adjacency ``[n, n]`` of the chosen nodes."""
    places = np.flatnonzero(chosen)
    return adjacent[np.ix_(places, places)]


def _numbers(adjacent: NDArray[np.bool_], largest: int) -> list[int]:
    """How many cliques of 1, ..., ``largest`` nodes a graph ``[n, n]`` has."""
    found = [len(adjacent), int(adjacent.sum()) // 2]
    if largest > 2:
        ones = adjacent.astype(np.float64)
        found.append(round(float(((ones @ ones) * ones).sum())) // 6)
    if largest > 3:
        around = [_numbers(_among(adjacent, neighbours), largest - 1) for neighbours in adjacent]
        found += [sum(numbers[size - 2] for numbers in around) // size for size in range(4, largest + 1)]
    return found[:largest]
