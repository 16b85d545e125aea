from __future__ import annotations

from itertools import combinations, pairwise, permutations
from math import comb

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.structure import Structure, structure_of_graphs
from mshgnn.structure.cells import clique_complex, path_complex, ring_complex
from support.graphs import data

HOUSE = nx.Graph([(0, 1), (0, 3), (1, 2), (2, 3), (2, 4), (3, 4)])


def lists(kind: Structure, graph: nx.Graph) -> dict[str, Tensor]:
    return {name: ragged.values for name, ragged in kind.compute(data(graph)).items()}


def nodes_of(found: dict[str, Tensor], p: int) -> list[frozenset[int]]:
    """The nodes of each cell of dimension ``p``."""
    cells: list[set[int]] = [set() for _ in found[f"cell{p}_size"]]
    for cell, node in zip(found[f"corner{p}_cell"].tolist(), found[f"corner{p}_node"].tolist(), strict=True):
        cells[cell].add(node)
    assert [len(cell) for cell in cells] == found[f"cell{p}_size"].tolist()
    return [frozenset(cell) for cell in cells]


def faces_of(found: dict[str, Tensor], p: int, nodes: int) -> list[list[frozenset[int]]]:
    """The nodes of the faces of each cell of dimension ``p``."""
    below = nodes_of(found, p - 1) if p > 1 else [frozenset([v]) for v in range(nodes)]
    faces: list[list[frozenset[int]]] = [[] for _ in found[f"cell{p}_size"]]
    for cell, face in zip(found[f"face{p}_cell"].tolist(), found[f"face{p}_of"].tolist(), strict=True):
        faces[cell].append(below[face])
    return faces


def numbers(found: dict[str, Tensor], p: int) -> tuple[int, int, int]:
    """Cells of dimension ``p``, their faces, and the ordered pairs of faces that share one."""
    faces = torch.bincount(found[f"face{p}_cell"], minlength=len(found[f"cell{p}_size"]))
    return len(faces), int(faces.sum()), int((faces * (faces - 1)).sum())


random_graphs = st.builds(nx.gnp_random_graph, st.integers(0, 7), st.floats(0, 1), st.integers(0, 99))


@given(random_graphs)
@settings(max_examples=25, deadline=None)
def test_cliques_are_all_sets_of_nodes_that_are_complete(graph: nx.Graph) -> None:
    found = lists(clique_complex(3), graph)
    for p in (1, 2, 3):
        complete = {
            frozenset(nodes)
            for nodes in combinations(graph, p + 1)
            if all(graph.has_edge(u, v) for u, v in combinations(nodes, 2))
        }
        assert sorted(map(sorted, nodes_of(found, p))) == sorted(map(sorted, complete))
        for nodes, faces in zip(nodes_of(found, p), faces_of(found, p, len(graph)), strict=True):
            assert sorted(map(sorted, faces)) == sorted(map(sorted, combinations(sorted(nodes), p)))


@given(random_graphs)
@settings(max_examples=25, deadline=None)
def test_rings_are_the_sets_of_nodes_that_induce_a_cycle(graph: nx.Graph) -> None:
    found = lists(ring_complex(5), graph)
    cycles = {
        frozenset(nodes)
        for size in (3, 4, 5)
        for nodes in combinations(graph, size)
        if nx.is_connected(graph.subgraph(nodes)) and all(d == 2 for _, d in graph.subgraph(nodes).degree)
    }
    assert sorted(map(sorted, nodes_of(found, 2))) == sorted(map(sorted, cycles))
    for nodes, faces in zip(nodes_of(found, 2), faces_of(found, 2, len(graph)), strict=True):
        edges = sorted(sorted(edge) for edge in graph.subgraph(nodes).edges)
        assert sorted(map(sorted, faces)) == edges


@given(random_graphs)
@settings(max_examples=25, deadline=None)
def test_paths_are_the_rows_of_distinct_nodes_joined_by_edges(graph: nx.Graph) -> None:
    found = lists(path_complex(3), graph)

    def is_path(nodes: tuple[int, ...]) -> bool:
        return all(graph.has_edge(u, v) for u, v in pairwise(nodes))

    for p in (1, 2, 3):
        paths = [nodes for nodes in permutations(graph, p + 1) if nodes[0] < nodes[-1] and is_path(nodes)]
        assert sorted(map(sorted, nodes_of(found, p))) == sorted(map(sorted, paths))
        shorter = [
            sorted(left)
            for nodes in paths
            for leave in range(p + 1)
            if is_path(left := nodes[:leave] + nodes[leave + 1 :])
        ]
        assert sorted(sorted(face) for faces in faces_of(found, p, len(graph)) for face in faces) == sorted(shorter)


def test_the_house_and_others_have_the_cells_worked_by_hand() -> None:
    simplices = lists(clique_complex(2), HOUSE)
    assert [numbers(simplices, p) for p in (1, 2)] == [(6, 12, 12), (1, 3, 6)]
    assert numbers(lists(ring_complex(4), HOUSE), 2) == (2, 7, 18)
    assert numbers(lists(ring_complex(3), HOUSE), 2) == (1, 3, 6)
    full = lists(clique_complex(3), nx.complete_graph(4))
    assert [numbers(full, p)[0] for p in (1, 2, 3)] == [6, 4, 1]
    for graph, expected in [
        (HOUSE, [(6, 12, 12), (9, 21, 30), (10, 24, 36), (7, 19, 34)]),
        (nx.cycle_graph(5), [(5, 10, 10)] * 4),
        (nx.complete_graph(4), [(6, 12, 12), (12, 36, 72), (12, 48, 144)]),
        (nx.path_graph(4), [(3, 6, 6), (2, 4, 4), (1, 2, 2)]),
    ]:
        found = lists(path_complex(len(expected)), graph)
        assert [numbers(found, p) for p in range(1, len(expected) + 1)] == expected


@pytest.mark.parametrize(
    ("graph", "rings"), [(nx.cycle_graph(6), 1), (nx.complete_graph(4), 4), (nx.cubical_graph(), 10)]
)
def test_rings_of_known_graphs(graph: nx.Graph, rings: int) -> None:
    assert numbers(lists(ring_complex(6), graph), 2)[0] == rings


def test_paths_of_two_edges_are_counted_by_degrees_and_triangles() -> None:
    graph = nx.karate_club_graph()
    paths = sum(comb(degree, 2) for _, degree in graph.degree)
    triangles = sum(nx.triangles(graph).values()) // 3
    assert numbers(lists(path_complex(2), graph), 2)[:2] == (paths, 2 * paths + 3 * triangles)


@pytest.mark.parametrize("kind", [clique_complex(3), ring_complex(6), path_complex(3)])
def test_graphs_without_cells_have_empty_lists(kind: Structure) -> None:
    packed = structure_of_graphs((kind,), [data(nx.empty_graph(n)) for n in (0, 3)] + [data(HOUSE)])
    first = packed.batch(0, 2)
    assert all(not len(values) for name, values in first.items() if not name.endswith("_ptr"))
    assert first["cell1_ptr"].tolist() == [0, 0, 0]
    assert packed.batch(0, 3)["cell1_ptr"].tolist() == [0, 0, 0, 6]


def test_a_complex_too_large_is_refused_while_it_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e6")
    with pytest.raises(UserError, match=r"the complex of a graph of 201 nodes with 19,900 paths needs"):
        path_complex(2).compute(data(nx.star_graph(200)))
    with pytest.raises(UserError, match=r"the complex of a graph of 30 nodes with 2,001 cliques needs"):
        clique_complex(2).compute(data(nx.complete_graph(30)))


def test_many_complexes_too_large_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "5e4")
    with pytest.raises(UserError, match=r"cliques-2 of the first \d+ of 500 graphs needs"):
        clique_complex(2).of_graphs([data(HOUSE)] * 500)
