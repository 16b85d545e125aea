r"""Small subgraphs of a graph, and how often each node and edge is in one.

For cycles and cliques all nodes of a copy play the same role, and all its edges, so one count per size says all:

.. math::
    c_v[k] = \#\{\text{copies with } k \text{ nodes that hold } v\}, \qquad
    c_{uv}[k] = \#\{\text{copies with } k \text{ nodes that hold the edge } uv\}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Literal

import networkx as nx
import torch
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.structure.cliques import larger_cliques
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
    # An edge's two directions, and its repeats, have one place.
    places = {nodes: number for number, nodes in enumerate(dict.fromkeys(holders))}
    whole = simple_graph(graph)
    if family == "cliques":
        found = _cliques_around(whole, list(places), largest)
    else:
        found = [[0] * sizes for _ in places]
        for cycle in copies(whole, family, largest):
            for held in [(v,) for v in cycle] if holder == "node" else ring_edges(cycle):
                found[places[held]][len(cycle) - SMALLEST] += 1
    count = torch.tensor([found[places[nodes]] for nodes in holders], dtype=torch.long).view(len(holders), sizes)
    return {"count": Ragged(count, holder)}


def _cliques_around(graph: nx.Graph, holders: Sequence[tuple[int, ...]], largest: int) -> list[list[int]]:
    """Cliques of 3, ..., ``largest`` nodes that hold each of the nodes, or of the edges; a loop is in none."""
    alone = len(holders[0]) if holders else 1
    found = larger_cliques(graph, holders, largest - alone)
    none = [0] * (largest - SMALLEST + 1)
    return [
        more[SMALLEST - alone - 1 :] if len(set(nodes)) == alone else none
        for nodes, more in zip(holders, found, strict=True)
    ]
