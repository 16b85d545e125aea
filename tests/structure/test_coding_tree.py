from __future__ import annotations

from math import log2

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mshgnn.structure.coding_tree import coding_tree, two_levels
from mshgnn.structure.entropy import MergeTree, partition, tree_entropy
from support.graphs import data

random_graphs = st.builds(nx.gnp_random_graph, st.integers(2, 10), st.floats(0.2, 0.8), st.integers(0, 99))


def test_the_path_of_four_nodes_worked_by_hand() -> None:
    """Degrees 1, 2, 2, 1. Joining 0 and 1 changes the entropy by -2/6 log(6/3), 1 and 2 by -2/6 log(6/4) only."""
    path = nx.path_graph(4)
    tree = MergeTree(path, [[0], [1], [2], [3]])
    tree.merge()
    assert tree.children == {4: [0, 1], 5: [2, 3], 6: [4, 5]}
    assert tree.changes == pytest.approx([-1 / 3, -1 / 3, 2 / 3])
    leaves = 2 / 6 * log2(3) + 4 / 6 * log2(3 / 2)
    assert tree_entropy(path, [[[0, 1], [2, 3]]]) == pytest.approx(leaves + 2 / 6 * log2(2))
    assert two_levels(path) == ([[0, 1], [2, 3]], [[0, 1], [2, 3]])


def test_two_triangles_joined_by_an_edge_worked_by_hand() -> None:
    """Of the flat partition the bridge is the better third merge: -2/14 log(14/6) against (2 log(7/4) - 4)/14."""
    graph = nx.barbell_graph(3, 0)
    tree = MergeTree(graph, [[v] for v in graph])
    tree.merge()
    assert [tree.children[row] for row in (6, 7, 8)] == [[0, 1], [4, 5], [2, 3]]
    expected = [-2 / 14 * log2(14 / 4), -2 / 14 * log2(14 / 4), -2 / 14 * log2(14 / 6)]
    assert tree.changes[:3] == pytest.approx(expected)


def test_two_large_cliques_joined_by_an_edge_are_its_groups() -> None:
    graph = nx.barbell_graph(20, 0)
    assert partition(graph, [[v] for v in graph]) == [list(range(20)), list(range(20, 40))]


@given(random_graphs)
@settings(max_examples=40, deadline=None)
def test_one_level_has_the_entropy_of_the_degrees(graph: nx.Graph) -> None:
    assume(graph.number_of_edges())
    share = np.array([degree for _, degree in graph.degree if degree]) / (2 * graph.number_of_edges())
    assert tree_entropy(graph, []) == pytest.approx(-(share * np.log2(share)).sum())


@given(random_graphs)
@settings(max_examples=40, deadline=None)
def test_changes_are_those_of_the_entropy_of_the_flat_partition(graph: nx.Graph) -> None:
    assume(graph.number_of_edges())
    tree = MergeTree(graph, [[v] for v in graph])
    tree.merge()
    groups = {v: [v] for v in graph}
    entropy = tree_entropy(graph, [list(groups.values())])
    for row, change in enumerate(tree.changes, start=len(graph)):
        groups[row] = [v for child in tree.children[row] for v in groups.pop(child)]
        after = tree_entropy(graph, [list(groups.values())])
        assert change == pytest.approx(after - entropy, abs=1e-9)
        entropy = after


@given(random_graphs)
@settings(max_examples=40, deadline=None)
def test_the_cost_of_a_row_is_what_the_entropy_of_the_tree_loses(graph: nx.Graph) -> None:
    assume(nx.is_connected(graph) and len(graph) > 3)
    tree = MergeTree(graph, [[v] for v in graph])
    tree.merge()

    def entropy() -> float:
        total = 2 * graph.number_of_edges()
        return -sum(
            tree.leaving[row] / total * log2(tree.volume[row] / tree.volume[above])
            for row, above in tree.parent.items()
            if tree.leaving[row]
        )

    root = len(tree.volume) - 1
    before, costs = entropy(), {a: tree.cost(a) for a in tree.children if a != root}
    assume(tree.height[root] > 2)
    tree.flatten(tree.height[root] - 1)
    assert entropy() >= before - 1e-9
    removed = set(costs) - set(tree.children)
    if len(removed) == 1:
        assert 2 * costs[removed.pop()] / (2 * graph.number_of_edges()) == pytest.approx(entropy() - before, abs=1e-9)
    tree.flatten()
    assert tree.height[root] <= 2


@given(st.builds(nx.gnp_random_graph, st.integers(0, 12), st.floats(0, 0.5), st.integers(0, 99)))
@settings(max_examples=40, deadline=None)
def test_every_child_has_one_parent_and_groups_stay_in_their_component(graph: nx.Graph) -> None:
    found = {name: ragged.values.tolist() for name, ragged in coding_tree().compute(data(graph)).items()}
    one, two = found["parent1"], [found["parent2"][group] for group in found["parent1"]]
    assert sorted(set(one)) == list(range(len(found["parent2"])))
    assert sorted(set(two)) == list(range(len(found["leaves2"])))
    assert [two.count(group) for group in range(len(found["leaves2"]))] == found["leaves2"]
    for level, owner in ((1, one), (2, two)):
        for group in set(owner):
            nodes = {v for v in graph if owner[v] == group}
            assert any(nodes <= component for component in nx.connected_components(graph))
        between = {(owner[u], owner[v]) for u, v in graph.to_directed().edges if owner[u] != owner[v]}
        assert sorted(map(tuple, found[f"quotient{level}"])) == sorted(between)


@given(random_graphs)
@settings(max_examples=40, deadline=None)
def test_growing_never_raises_the_entropy(graph: nx.Graph) -> None:
    assume(nx.is_connected(graph))
    nodes = partition(graph, [[v] for v in graph])
    assert tree_entropy(graph, two_levels(graph)) <= tree_entropy(graph, [nodes]) + 1e-9
