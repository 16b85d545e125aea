from __future__ import annotations

from collections import Counter
from math import comb

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.structure import substructures
from mshgnn.structure.substructures import Family, Holder, substructure_counts
from support.graphs import data

FAMILIES: list[Family] = ["cycles", "induced-cycles", "cliques"]


def counts(graph: nx.Graph | Data, family: Family, largest: int, holder: Holder) -> Tensor:
    seen = data(graph) if isinstance(graph, nx.Graph) else graph
    return substructure_counts(family, largest, holder).compute(seen)["count"].values


def matched(graph: nx.Graph, family: Family, size: int) -> tuple[Counter[int], Counter[frozenset[int]]]:
    """Copies that hold each node and each edge, from all ways to place the pattern: an independent truth."""
    pattern = nx.complete_graph(size) if family == "cliques" else nx.cycle_graph(size)
    matcher = GraphMatcher(graph, pattern)
    ways = matcher.subgraph_isomorphisms_iter() if "induced" in family else matcher.subgraph_monomorphisms_iter()
    found = set()
    for way in ways:
        place = {b: a for a, b in way.items()}
        found.add(frozenset(frozenset((place[u], place[v])) for u, v in pattern.edges))
    by_edge = Counter(edge for copy in found for edge in copy)
    by_node = Counter(node for copy in found for node in frozenset().union(*copy))
    return by_node, by_edge


@pytest.mark.parametrize("family", FAMILIES)
@given(st.integers(0, 8), st.floats(0, 0.7), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_counts_are_those_of_matching_the_pattern(family: Family, nodes: int, share: float, seed: int) -> None:
    graph = nx.gnp_random_graph(nodes, share, seed)
    by_node, by_edge = counts(graph, family, 5, "node"), counts(graph, family, 5, "edge")
    assert by_node.shape == (nodes, 3)
    assert by_edge.shape == (2 * graph.number_of_edges(), 3)
    for size in (3, 4, 5):
        of_node, of_edge = matched(graph, family, size)
        assert by_node[:, size - 3].tolist() == [of_node[v] for v in graph]
        expected = [of_edge[frozenset(edge)] for edge in graph.edges]
        assert by_edge[:, size - 3].tolist() == 2 * expected


def test_counts_of_graphs_worked_by_hand() -> None:
    complete, petersen = nx.complete_graph(5), nx.petersen_graph()
    assert counts(complete, "cliques", 4, "node").tolist() == [[6, 4]] * 5
    assert counts(complete, "cliques", 4, "edge").tolist() == [[3, 3]] * 20
    assert counts(petersen, "cycles", 6, "node").tolist() == [[0, 0, 6, 6]] * 10
    assert counts(petersen, "cycles", 6, "edge").tolist() == [[0, 0, 4, 4]] * 30
    club = nx.karate_club_graph()
    assert counts(club, "cliques", 3, "node")[:, 0].tolist() == list(nx.triangles(club).values())
    assert counts(club, "cycles", 4, "node")[:, 1].sum() == 4 * 154
    assert counts(club, "induced-cycles", 4, "node")[:, 1].sum() == 4 * 36


def test_cliques_are_counted_where_they_are_too_many_to_list() -> None:
    complete = nx.complete_graph(60)
    assert counts(complete, "cliques", 6, "edge")[0].tolist() == [comb(58, size - 2) for size in (3, 4, 5, 6)]
    assert counts(complete, "cliques", 6, "node")[0].tolist() == [comb(59, size - 1) for size in (3, 4, 5, 6)]


@given(st.integers(0, 9), st.floats(0.5, 1), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_cliques_of_any_size_are_those_that_networkx_lists(nodes: int, share: float, seed: int) -> None:
    graph = nx.gnp_random_graph(nodes, share, seed)
    listed = [clique for clique in nx.enumerate_all_cliques(graph) if 3 <= len(clique) <= 7]
    by_node, by_edge = counts(graph, "cliques", 7, "node"), counts(graph, "cliques", 7, "edge")
    for size in range(3, 8):
        of_size = [set(clique) for clique in listed if len(clique) == size]
        assert by_node[:, size - 3].tolist() == [sum(v in clique for clique in of_size) for v in graph]
        expected = [sum(set(edge) <= clique for clique in of_size) for edge in graph.edges]
        assert by_edge[:, size - 3].tolist() == 2 * expected


def test_directions_repeats_and_loops_of_an_edge() -> None:
    edges = torch.tensor([[0, 1, 2, 1, 0, 2], [1, 2, 0, 0, 0, 3]])
    found = counts(Data(edge_index=edges, num_nodes=4), "cycles", 3, "edge")
    assert found[:, 0].tolist() == [1, 1, 1, 1, 0, 0]
    assert torch.equal(found, counts(Data(edge_index=edges, num_nodes=4), "cliques", 3, "edge"))


def test_too_many_copies_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substructures, "COPIES_LIMIT", 100)
    with pytest.raises(UserError, match="a graph of 12 nodes has more than 100 cycles of up to 5 nodes"):
        counts(nx.complete_graph(12), "cycles", 5, "edge")
