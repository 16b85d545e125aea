"""How a graph is cut: every receiver once, every sender inside its chunk's range, and nothing depends on threads."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest
import torch
from aggregate_cases import nearby_edges, random_edges
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.ops import receiver_csr
from mshgnn.ops.backends.cpu import plan as module
from mshgnn.ops.backends.cpu.plan import BUFFER_COPIES, MAX_CHUNKS, Cost, Plan, plan_for
from support.memory import put_where_it_lay

HEAVY = Cost(2**20, 2**20, 64, 0)
"""A layer of which 64 receivers and edges make a chunk."""


@settings(max_examples=150, deadline=None)
@given(
    num_receivers=st.integers(0, 300),
    num_senders=st.integers(1, 300),
    num_edges=st.integers(0, 600),
    work=st.integers(1, 2**28),
    tile_floats=st.sampled_from([0, 1, 2**10, 2**20]),
    seed=st.integers(0, 1000),
)
def test_chunks_and_tiles_cover_the_receivers_in_order(
    num_receivers: int, num_senders: int, num_edges: int, work: int, tile_floats: int, seed: int
) -> None:
    edges = random_edges(num_senders, max(num_receivers, 1), num_edges if num_receivers else 0, seed)
    graph = receiver_csr(edges, num_senders, num_receivers)
    plan = plan_for(graph, num_senders, Cost(work, work, 64, tile_floats))
    assert plan.rowptr.tolist() == graph.rowptr.tolist()
    assert plan.senders.tolist() == graph.sender.tolist()
    assert plan.largest_degree == (int(graph.degree.max()) if num_receivers else 0)
    assert len(plan.chunks) <= MAX_CHUNKS
    tiles = [tile for chunk in plan.chunks for tile in chunk.tiles]
    for ranges in ([(chunk.first, chunk.last) for chunk in plan.chunks], tiles):
        assert all(first < last for first, last in ranges)
        assert [r[0] for r in ranges] == [0, *(r[1] for r in ranges)][: len(ranges)]
        assert (ranges[-1][1] if ranges else 0) == num_receivers
    for chunk in plan.chunks:
        own = plan.senders[plan.rowptr[chunk.first] : plan.rowptr[chunk.last]]
        assert ((chunk.low <= own) & (own < chunk.high)).all()
        assert 0 <= chunk.low <= chunk.high <= num_senders
    if len(plan.chunks) > 2:
        assert sum(chunk.high - chunk.low for chunk in plan.chunks) <= BUFFER_COPIES * num_senders


def balanced(plan: Plan) -> float:
    """The share of the largest chunk, in multiples of an equal one."""
    work = [chunk.last - chunk.first + int(plan.rowptr[chunk.last] - plan.rowptr[chunk.first]) for chunk in plan.chunks]
    return max(work) * len(work) / sum(work)


def test_senders_decide_how_many_chunks_there_are() -> None:
    near = plan_for(receiver_csr(nearby_edges(2000, 10_000), 2000, 2000), 2000, HEAVY)
    assert len(near.chunks) == MAX_CHUNKS
    anywhere = plan_for(receiver_csr(random_edges(2000, 2000, 10_000), 2000, 2000), 2000, HEAVY)
    assert len(anywhere.chunks) == BUFFER_COPIES
    assert balanced(near) < 1.1
    assert balanced(anywhere) < 1.1


def test_buffers_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUFFER_FLOATS", 2 * 2000 * HEAVY.sender_floats)
    graph = receiver_csr(random_edges(2000, 2000, 10_000), 2000, 2000)
    assert len(plan_for(graph, 2000, HEAVY).chunks) == 2


def test_a_small_graph_is_one_chunk() -> None:
    graph = receiver_csr(random_edges(20, 20, 60), 20, 20)
    (chunk,) = plan_for(graph, 20, Cost(640, 640, 48, 0)).chunks
    assert chunk.tiles == [(0, 20)]


def test_tiles_fit_the_cache_and_are_nearly_equal() -> None:
    graph = receiver_csr(random_edges(5000, 5000, 100), 5000, 5000)
    (chunk,) = plan_for(graph, 5000, Cost(1, 1, 64, 1024)).chunks
    sizes = [high - low for low, high in chunk.tiles]
    assert max(sizes) * 1024 <= module.TILE_FLOATS
    assert len(sizes) == -(-5000 // 128)
    assert [high for _, high in chunk.tiles[:-1]] == [low for low, _ in chunk.tiles[1:]]
    assert all(a == b for a, b in pairwise(sizes[:-1]))


def test_the_plan_does_not_depend_on_the_threads() -> None:
    edges = nearby_edges(2000, 10_000)
    before = torch.get_num_threads()
    plans = []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            plans.append(plan_for(receiver_csr(edges.clone(), 2000, 2000), 2000, HEAVY).chunks)
    finally:
        torch.set_num_threads(before)
    assert plans[0] == plans[1] == plans[2]


def test_a_plan_is_made_once_per_graph_and_cost() -> None:
    edges = random_edges(30, 30, 100)
    graph = receiver_csr(edges, 30, 30)
    first = plan_for(graph, 30, HEAVY)
    assert plan_for(graph, 30, HEAVY) is first
    other = plan_for(graph, 30, HEAVY._replace(sender_floats=8))
    assert other is not first
    assert plan_for(graph, 30, HEAVY) is first
    graph.sender.copy_((graph.sender + 1) % 30)
    assert plan_for(graph, 30, HEAVY).senders.tolist() == graph.sender.tolist() != first.senders.tolist()


def test_senders_exchanged_for_others_are_seen() -> None:
    for _ in range(30):
        graph = receiver_csr(random_edges(30, 30, 400), 30, 30)
        plan_for(graph, 30, HEAVY)
        graph.sender.data = put_where_it_lay(graph.sender, torch.full_like(graph.sender, 2))
        assert plan_for(graph, 30, HEAVY).senders.tolist() == [2] * 400


def test_a_plan_dies_with_its_graph() -> None:
    before = len(module._cache._entries)
    for _ in range(20):
        edges = random_edges(30, 30, 100)
        plan_for(receiver_csr(edges, 30, 30), 30, HEAVY)
        del edges
    gc.collect()
    assert len(module._cache._entries) <= before + 1


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_kernels_read_copies_of_the_indices(dtype: torch.dtype) -> None:
    edges = random_edges(30, 30, 100).to(dtype)
    graph = receiver_csr(edges, 30, 30)
    plan = plan_for(graph, 30, HEAVY)
    rowptr, senders = plan.rowptr.copy(), plan.senders.copy()
    graph.sender.data.fill_(10**6)
    graph.rowptr.data.fill_(10**6)
    again = plan_for(graph, 30, HEAVY)  # nothing that torch counts has changed
    for known in (plan, again):
        assert np.array_equal(known.rowptr, rowptr)
        assert np.array_equal(known.senders, senders)


def test_tensors_of_inference_mode_are_looked_at_every_time() -> None:
    with torch.inference_mode():
        graph = receiver_csr(random_edges(30, 30, 100), 30, 30)
        plan_for(graph, 30, HEAVY)
        graph.sender.copy_((graph.sender + 1) % 30)
        assert plan_for(graph, 30, HEAVY).senders.tolist() == graph.sender.tolist()
        graph.sender.fill_(30)
        with pytest.raises(ValueError, match="sender holds node index 30, but there are only 30 nodes"):
            plan_for(graph, 30, HEAVY)


@pytest.mark.parametrize("num_senders", [29, 1, 0])
def test_fewer_senders_than_the_graph_names_are_refused(num_senders: int) -> None:
    graph = receiver_csr(torch.tensor([[29, 1], [0, 1]]), 30, 2)
    plan_for(graph, 30, HEAVY)
    with pytest.raises(ValueError, match="sender holds node index 29"):
        plan_for(graph, num_senders, HEAVY)
