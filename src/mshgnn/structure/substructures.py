r"""Small subgraphs of a graph, and how often each node and edge is in one.

For cycles and cliques all nodes of a copy play the same role, and all its edges, so one count per size says all:

.. math::
    c_v[k] = \#\{\text{copies with } k \text{ nodes that hold } v\}, \qquad
    c_{uv}[k] = \#\{\text{copies with } k \text{ nodes that hold the edge } uv\}
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, takewhile
from typing import Literal

import networkx as nx
import torch
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.structure.kind import Structure
from mshgnn.structure.ragged import Ragged
from mshgnn.structure.simple_graph import simple_graph

Family = Literal["cycles", "induced-cycles", "cliques"]
"""``"cycles"`` may have chords, ``"induced-cycles"`` have none."""
Holder = Literal["node", "edge"]

SMALLEST = 3
COPIES_LIMIT = 20_000_000
"""Copies in one graph, which takes minutes; around two hubs of a large graph they are billions."""


def substructure_counts(family: Family, largest: int, holder: Holder) -> Structure:
    """``count`` int64 ``[nodes or edges, largest - 2]``: copies of 3, ..., ``largest`` nodes that hold it.

    Both directions of an edge have the same counts, a loop has zeros.
    """
    compute = partial(_counts, family=family, largest=largest, holder=holder)
    return Structure(f"counts-{family}-{largest}-{holder}", compute, "copies found")


def copies(graph: nx.Graph, family: Family, largest: int) -> Iterator[tuple[int, ...]]:
    """The nodes of every copy with 3 to ``largest`` nodes; those of a cycle in the order of the cycle."""
    if family == "cliques":
        found = takewhile(lambda clique: len(clique) <= largest, nx.enumerate_all_cliques(graph))
    elif family == "cycles":
        found = nx.simple_cycles(graph, length_bound=largest)
    else:
        found = nx.chordless_cycles(graph, length_bound=largest)
    for number, nodes in enumerate(found):
        if number == COPIES_LIMIT:
            raise UserError(
                f"a graph of {len(graph):,} nodes has more than {COPIES_LIMIT:,} {family} of up to {largest} nodes; "
                "choose smaller ones"
            )
        if len(nodes) >= SMALLEST:
            yield tuple(nodes)


def ring_edges(nodes: tuple[int, ...]) -> list[tuple[int, int]]:
    """The edges of a cycle, the smaller end first."""
    return [(min(pair), max(pair)) for pair in zip(nodes, nodes[1:] + nodes[:1], strict=True)]


def _counts(graph: Data, family: Family, largest: int, holder: Holder) -> dict[str, Ragged]:
    sizes = largest - SMALLEST + 1
    holders: list[tuple[int, ...]]
    if holder == "node":
        holders = [(v,) for v in range(int(graph.num_nodes))]
    else:
        holders = [(min(u, v), max(u, v)) for u, v in graph.edge_index.t().tolist()]
    place = {nodes: number for number, nodes in enumerate(holders)}
    found = [[0] * sizes for _ in holders]
    for copy in copies(simple_graph(graph), family, largest):
        if holder == "node":
            held: list[tuple[int, ...]] = [(v,) for v in copy]
        elif family == "cliques":
            held = list(combinations(sorted(copy), 2))
        else:
            held = [*ring_edges(copy)]
        for key in held:
            found[place[key]][len(copy) - SMALLEST] += 1
    # An edge's two directions, and its repeats, have one place.
    count = torch.tensor([found[place[nodes]] for nodes in holders], dtype=torch.long).view(len(holders), sizes)
    return {"count": Ragged(count, holder)}
