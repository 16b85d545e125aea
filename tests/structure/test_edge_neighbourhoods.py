from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.errors import UserError
from mshgnn.structure.edge_neighbourhoods import compute
from support.graphs import data


@given(st.integers(0, 8), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_lists_are_those_of_networkx(nodes: int, share: float, seed: int) -> None:
    graph = nx.gnp_random_graph(nodes, share, seed)
    found = {name: ragged.values.tolist() for name, ragged in compute(data(graph)).items()}
    ball = {p: {p, *graph[p]} for p in graph}
    pairs = [(p, x) for p in graph for x in sorted(ball[p])]
    assert found["pair_node"] == [x for _, x in pairs]
    place = {pair: number for number, pair in enumerate(pairs)}
    copies = [(p, q, x) for p, q in pairs for x in sorted(ball[p] | ball[q])]
    assert found["copy_from"] == [place.get((p, x), -1) for p, _, x in copies]
    assert found["copy_to"] == [place.get((q, x), -1) for _, q, x in copies]
    assert found["copy_marks"] == [[x == p, x == q] for p, q, x in copies]
    number = {copy: row for row, copy in enumerate(copies)}
    inner = [[number[p, q, x], number[p, q, y]] for p, q, x in copies for y in sorted(graph[x]) if (p, q, y) in number]
    assert found["inner_ends"] == inner


def test_copies_are_counted_by_degrees_and_triangles() -> None:
    graph = nx.karate_club_graph()
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    degrees = dict(graph.degree)
    triangles = sum(nx.triangles(graph).values()) // 3
    between = 2 * sum(d * d for d in degrees.values()) - 6 * triangles
    itself = sum(1 + d for d in degrees.values())
    assert len(compute(data(graph))["copy_from"].values) == between + itself


def test_a_star_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e6")
    with pytest.raises(UserError, match=r"edge neighbourhoods of 201 nodes .* needs"):
        compute(data(nx.star_graph(200)))
