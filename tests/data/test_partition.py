"""Parts of nearly equal size that keep most edges inside."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data.partition import SLACK, by_growing, by_metis, partition
from mshgnn.data.sampling import Ints
from mshgnn.errors import UserError


def csr(edges: set[tuple[int, int]], nodes: int) -> tuple[Ints, Ints]:
    both = sorted({*edges, *((v, u) for u, v in edges)}, key=lambda edge: (edge[1], edge[0]))
    rowptr = np.cumsum([0, *np.bincount([v for _, v in both], minlength=nodes)]) if both else np.zeros(nodes + 1, int)
    return rowptr.astype(np.int64), np.array([u for u, _ in both], dtype=np.int64)


def communities(count: int, size: int, inside: int, outside: int) -> tuple[Ints, Ints, Ints]:
    """Planted groups whose members are numbered at random: ``inside`` edges per node within, ``outside`` to others."""
    random = np.random.default_rng(0)
    names = random.permutation(count * size)
    group = np.arange(count * size) // size
    edges = set()
    for v in range(count * size):
        near = group[v] * size + random.integers(size, size=inside)
        far = random.integers(count * size, size=outside)
        edges |= {(int(names[u]), int(names[v])) for u in (*near, *far) if u != v}
    rowptr, sender = csr(edges, count * size)
    of_node = np.empty(count * size, dtype=np.int64)
    of_node[names] = group
    return rowptr, sender, of_node


def cut(rowptr: Ints, sender: Ints, parts: Ints) -> float:
    """The share of edges between parts."""
    return float(np.mean(parts[sender] != np.repeat(parts, np.diff(rowptr))))


def test_planted_communities_are_mostly_found() -> None:
    rowptr, sender, planted = communities(8, 60, inside=8, outside=1)
    parts = by_growing(rowptr, sender, 8)
    random = np.random.default_rng(1).permutation(planted)
    assert cut(rowptr, sender, random) > 0.8
    assert cut(rowptr, sender, parts) < 1.5 * cut(rowptr, sender, planted)


@given(st.integers(1, 12), st.data())
@settings(deadline=None, max_examples=60)
def test_every_node_has_a_part_and_no_part_is_empty_or_too_large(nodes: int, data: st.DataObject) -> None:
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    rowptr, sender = csr(set(data.draw(st.lists(pairs, max_size=30))), nodes)
    count = data.draw(st.integers(1, nodes))
    parts = by_growing(rowptr, sender, count)
    sizes = np.bincount(parts, minlength=count)
    assert sizes.size == count
    assert sizes.min() >= 1
    assert sizes.max() <= max(SLACK * nodes / count, -(-nodes // count))


def test_a_graph_cannot_have_more_parts_than_nodes() -> None:
    with pytest.raises(UserError, match="3 nodes cannot be cut into 4 parts"):
        partition(np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int64), 4)


def test_metis_is_given_the_graph_as_it_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def part_graph(num_parts: int, adjacency: tuple[Ints, Ints]) -> tuple[int, list[int]]:
        seen.update(parts=num_parts, starts=adjacency[0].tolist(), adjacent=adjacency[1].tolist())
        return 0, [0, 1]

    pymetis = SimpleNamespace(part_graph=part_graph, CSRAdjacency=lambda *arrays: arrays, __spec__=object())
    monkeypatch.setitem(sys.modules, "pymetis", pymetis)
    for rowptr, sender in (
        csr({(0, 1)}, 2),
        (np.array([0, 0, 3]), np.array([0, 1, 0])),  # one way, twice, and a loop
    ):
        assert by_metis(rowptr, sender, 2).tolist() == [0, 1]
        assert partition(rowptr, sender, 2, by="metis").tolist() == [0, 1]
        assert seen == {"parts": 2, "starts": [0, 1, 2], "adjacent": [1, 0]}
    del pymetis.CSRAdjacency
    with pytest.raises(UserError, match=r"pymetis is too old: update it to 2025.2"):
        by_metis(rowptr, sender, 2)


def test_what_is_installed_does_not_choose_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rowptr, sender, _ = communities(3, 20, inside=4, outside=1)
    grown = partition(rowptr, sender, 3)
    pymetis = SimpleNamespace(part_graph=None, CSRAdjacency=None, __spec__=object())
    monkeypatch.setitem(sys.modules, "pymetis", pymetis)
    assert np.array_equal(partition(rowptr, sender, 3), grown)
    monkeypatch.setattr("mshgnn.data.partition.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install pymetis; or take 'growing'"):
        partition(rowptr, sender, 3, by="metis")


def test_real_metis_finds_planted_communities_and_takes_any_graph() -> None:
    pytest.importorskip("pymetis", reason="pymetis is not installed")
    rowptr, sender, planted = communities(8, 60, inside=8, outside=1)
    parts = partition(rowptr, sender, 8, by="metis")
    assert cut(rowptr, sender, parts) < 1.1 * cut(rowptr, sender, planted)
    assert np.array_equal(parts, by_metis(rowptr, sender.astype(np.int32), 8)), "the same graph has the same parts"
    for edges in (set(), {(0, leaf) for leaf in range(1, 9)}, {(3, 3), (1, 2)}):
        assert set(by_metis(*csr(edges, 9), 4).tolist()) <= set(range(4))
