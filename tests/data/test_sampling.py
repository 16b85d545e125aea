"""Parts of a graph: what is drawn, how often, and in which order."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.utils import k_hop_subgraph, subgraph

from mshgnn.data.sampling import ALL, Ints, Sampler, Subgraph
from mshgnn.errors import UserError

DRAWS = 20_000


def star(senders: int) -> Sampler:
    """Node 0 hears all others."""
    rowptr = np.array([0, *[senders] * (senders + 1)])
    return Sampler(rowptr, np.arange(1, senders + 1), seed=3)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Ints, Ints]:
    """``rowptr`` and ``sender`` of a graph of any shape; an edge may be there twice."""
    nodes = draw(st.integers(1, 8))
    senders = [draw(st.lists(st.integers(0, nodes - 1), max_size=6)) for _ in range(nodes)]
    rowptr = np.cumsum([0, *map(len, senders)])
    return rowptr, np.array([u for own in senders for u in own], dtype=np.int64)


def edge_list(rowptr: Ints, sender: Ints) -> torch.Tensor:
    receiver = np.repeat(np.arange(rowptr.size - 1), np.diff(rowptr))
    return torch.from_numpy(np.stack([sender, receiver]))


def assert_consistent(part: Subgraph, rowptr: Ints, sender: Ints) -> None:
    """Every edge of the part is that edge of the graph; receivers come in order."""
    receivers = part.nodes[part.receiver]
    assert (sender[part.position] == part.nodes[part.sender]).all()
    assert ((rowptr[receivers] <= part.position) & (part.position < rowptr[receivers + 1])).all()
    assert (np.diff(part.receiver) >= 0).all()
    assert np.unique(part.nodes).size == part.nodes.size
    assert part.node_counts[-1] == part.nodes.size
    assert part.edge_counts[-1] == part.sender.size


def test_without_replacement_every_set_of_senders_is_equally_likely() -> None:
    sampler = star(5)
    seen = Counter(tuple(sorted(sampler.around(np.array([0]), (2,)).position)) for _ in range(DRAWS))
    assert set(seen) == set(combinations(range(5), 2))
    expected = DRAWS / 10
    deviations = [(count - expected) / np.sqrt(expected * 0.9) for count in seen.values()]
    assert max(map(abs, deviations)) < 4.5
    for sender in range(5):  # the exact inclusion probability is 2 / 5
        share = sum(count for pair, count in seen.items() if sender in pair) / DRAWS
        assert abs(share - 0.4) < 4.5 * np.sqrt(0.4 * 0.6 / DRAWS)


def test_with_replacement_every_draw_is_uniform_and_alone() -> None:
    sampler = star(3)
    sampler.replace = True
    seen = Counter(tuple(sampler.around(np.array([0]), (2,)).position) for _ in range(DRAWS))
    assert len(seen) == 9
    assert max(abs(count - DRAWS / 9) for count in seen.values()) < 4.5 * np.sqrt(DRAWS / 9)


def test_with_replacement_few_senders_are_drawn_as_often_as_asked_for() -> None:
    sampler = star(1)
    sampler.replace = True
    assert sampler.around(np.array([0]), (4,)).position.tolist() == [0, 0, 0, 0]
    assert sampler.around(np.array([1]), (4,)).position.size == 0


def test_the_same_seed_draws_the_same() -> None:
    first, second = star(50), star(50)
    draws = [first.around(np.array([0]), (5,)).position.tolist() for _ in range(3)]
    assert draws == [second.around(np.array([0]), (5,)).position.tolist() for _ in range(3)]
    assert draws[0] != draws[1]
    first.reseed(3)
    assert first.around(np.array([0]), (5,)).position.tolist() == draws[0]


@given(graphs(), st.data())
@settings(deadline=None, max_examples=60)
def test_a_sample_has_what_it_says_at_every_hop(graph: tuple[Ints, Ints], data: st.DataObject) -> None:
    rowptr, sender = graph
    nodes = rowptr.size - 1
    targets = np.array(data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, unique=True)))
    counts = data.draw(st.lists(st.sampled_from([ALL, 1, 2, 3]), min_size=1, max_size=3))
    part = Sampler(rowptr, sender).around(targets, counts)
    assert_consistent(part, rowptr, sender)
    assert part.nodes[: targets.size].tolist() == targets.tolist()
    assert np.unique(part.position).size == part.position.size
    degree, bounds = np.diff(rowptr), (0, *part.node_counts)
    for hop, count in enumerate(counts):
        for receiver in range(bounds[hop], bounds[hop + 1]):
            whole = int(degree[part.nodes[receiver]])
            assert int((part.receiver == receiver).sum()) == (whole if count == ALL else min(count, whole))
        within = part.sender[: part.edge_counts[hop]]
        assert (within < part.node_counts[hop + 1]).all()


@given(graphs(), st.data())
@settings(deadline=None, max_examples=60)
def test_all_neighbours_are_the_nodes_that_pyg_finds(graph: tuple[Ints, Ints], data: st.DataObject) -> None:
    rowptr, sender = graph
    target = data.draw(st.integers(0, rowptr.size - 2))
    part = Sampler(rowptr, sender).around(np.array([target]), (ALL, ALL))
    truth = k_hop_subgraph(target, 2, edge_list(rowptr, sender), num_nodes=rowptr.size - 1)[0]
    assert sorted(part.nodes.tolist()) == truth.tolist()


@given(graphs(), st.data())
@settings(deadline=None, max_examples=60)
def test_the_edges_among_nodes_are_those_that_pyg_finds(graph: tuple[Ints, Ints], data: st.DataObject) -> None:
    rowptr, sender = graph
    nodes = rowptr.size - 1
    chosen = data.draw(st.permutations(range(nodes)))[: data.draw(st.integers(1, nodes))]
    part = Sampler(rowptr, sender).among(np.array(chosen))
    assert_consistent(part, rowptr, sender)
    truth = subgraph(torch.tensor(chosen), edge_list(rowptr, sender), num_nodes=nodes)[0]
    found = np.stack([part.nodes[part.sender], part.nodes[part.receiver]])
    assert sorted(zip(*found.tolist(), strict=True)) == sorted(zip(*truth.tolist(), strict=True))


@pytest.mark.parametrize(("nodes", "reason"), [([7], "0..3, got 7"), ([-1], "0..3, got -1"), ([1, 1], "given twice")])
def test_nodes_that_are_not_there_are_refused(nodes: list[int], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        star(3).around(np.array(nodes), (1,))
