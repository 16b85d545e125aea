"""A coding tree of small structural entropy: nodes in groups, and groups in groups (Wu et al., 2022).

The tree has height 3: leaves, two levels of groups, the root. As the authors make it, a greedy search first finds a
tree of height 2 (:mod:`mshgnn.structure.entropy`). It then grows by a level, by splitting the groups or by grouping
them, whichever lowers the entropy more. Every component has a tree of its own, and all hang under one root. Ties go
to the smaller numbers, so renaming nodes can change the tree.
"""

from __future__ import annotations

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.structure.entropy import Groups, partition, tree_entropy
from mshgnn.structure.kind import Structure
from mshgnn.structure.ragged import NODE, Ragged
from mshgnn.structure.simple_graph import simple_graph


def coding_tree() -> Structure:
    """``parent1`` per node points to the groups of the first level, ``parent2`` per group to those of the second.

    ``quotient1`` and ``quotient2`` ``[rows, 2]`` are the edges between the groups of each level, in both directions;
    ``leaves2`` is the number of nodes below each group of the second.
    """
    return Structure("coding-tree-3", _tree, "M log M")


def two_levels(graph: nx.Graph) -> tuple[Groups, Groups]:
    """The nodes of a connected graph in groups, and in groups of these groups."""
    nodes = sorted(graph)
    first = _nodes_of([[v] for v in nodes], partition(graph, [[v] for v in nodes]))
    entropy = tree_entropy(graph, [first])

    split = [part for group in first for part in _split(graph, group)]
    finer = (entropy - tree_entropy(graph, [split, first])) / len(nodes)
    if len(first) > 2:
        together = _nodes_of(first, partition(graph, first))
        if (entropy - tree_entropy(graph, [first, together])) / len(first) > finer:
            return first, together
    return split, first


def _split(graph: nx.Graph, group: list[int]) -> Groups:
    """The groups that a group has within; one of two nodes stays whole."""
    if len(group) < 3:
        return [group]
    alone = [[v] for v in group]
    return _nodes_of(alone, partition(graph.subgraph(group), alone))


def _nodes_of(members: Groups, groups: Groups) -> Groups:
    return [[v for place in group for v in members[place]] for group in groups]


def _tree(graph: Data) -> dict[str, Ragged]:
    simple = simple_graph(graph)
    first: Groups = []
    second: Groups = []
    for component in nx.connected_components(simple):
        inner, outer = two_levels(simple.subgraph(component))
        first, second = first + inner, second + outer
    one, two = (_owners(groups, len(simple)) for groups in (first, second))
    edges = list(simple.to_directed().edges)
    return {
        "parent1": Ragged(_long(one), NODE, "group1"),
        "parent2": Ragged(_long([two[group[0]] for group in first]), "group1", "group2"),
        "leaves2": Ragged(_long([len(group) for group in second]), "group2"),
        "quotient1": Ragged(_quotient(edges, one), "quotient1", "group1"),
        "quotient2": Ragged(_quotient(edges, two), "quotient2", "group2"),
    }


def _owners(groups: Groups, nodes: int) -> list[int]:
    """The group of every node."""
    owner = [0] * nodes
    for number, group in enumerate(groups):
        for v in group:
            owner[v] = number
    return owner


def _quotient(edges: list[tuple[int, int]], owner: list[int]) -> Tensor:
    """The edges between groups ``[rows, 2]``, each once."""
    between = {(owner[u], owner[v]) for u, v in edges if owner[u] != owner[v]}
    return _long([end for pair in sorted(between) for end in pair]).view(-1, 2)


def _long(numbers: list[int]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.long)
