from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.report.page.drawing import DIGITS, MOST_NODES, Drawing, laid_out, pack, unpack


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    nodes = draw(st.integers(1, MOST_NODES))
    node = st.integers(0, nodes - 1)
    places = draw(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=nodes, max_size=nodes))
    edges = draw(st.lists(st.tuples(node, node), max_size=80))
    labels = draw(st.lists(st.integers(0, len(DIGITS) - 1), min_size=nodes, max_size=nodes) | st.just([]))
    return Drawing(np.array(places), edges, labels, draw(st.none() | node))


@given(drawings())
def test_a_packed_drawing_is_unpacked_again(drawing: Drawing) -> None:
    again = unpack(pack(drawing))
    assert (list(again.edges), list(again.labels), again.centre) == (drawing.edges, drawing.labels, drawing.centre)
    assert again.places.shape == drawing.places.shape
    assert again.places.min() >= 0
    assert again.places.max() <= 99
    assert pack(again) == pack(unpack(pack(again)))


@given(st.integers(1, 25), st.data())
def test_any_graph_is_laid_out_in_finite_places(nodes: int, data: st.DataObject) -> None:
    node = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=40))
    assert np.isfinite(laid_out(nodes, edges)).all()


def test_neighbours_are_nearer_than_others() -> None:
    path = [(i, i + 1) for i in range(7)]
    places = laid_out(8, path)
    lengths = [np.linalg.norm(places[a] - places[b]) for a, b in path]
    assert np.linalg.norm(places[0] - places[7]) > 5 * np.mean(lengths)
