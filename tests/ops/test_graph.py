"""Edges grouped by receiver: every edge in its place, and a kept sort that never outlives what it was made from."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from mshgnn.ops import ReceiverCSR, graph, receiver_csr
from mshgnn.ops.graph import EdgeList, check_csr, check_range
from support.memory import put_where_it_lay

EDGE_LISTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=20)


def as_tensor(edges: list[tuple[int, int]], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor(edges, dtype=dtype).reshape(-1, 2).t().contiguous()


@settings(deadline=None)  # the first sort loads numba
@given(edges=EDGE_LISTS, dtype=st.sampled_from([torch.int32, torch.int64]), sort=st.booleans())
def test_every_edge_is_found_with_its_receiver(edges: list[tuple[int, int]], dtype: torch.dtype, sort: bool) -> None:
    if sort:
        edges = sorted(edges, key=lambda edge: edge[1])
    edge_index = as_tensor(edges, dtype)
    csr = receiver_csr(edge_index, 7, 5)
    rows = []
    for v in range(5):
        for e in range(int(csr.rowptr[v]), int(csr.rowptr[v + 1])):
            rows.append((int(csr.sender[e]), v))
            assert edges[int(csr.order[e])] == rows[-1]
    # Stable: edges of one receiver keep their order.
    assert rows == sorted(edges, key=lambda edge: edge[1])
    assert csr.receiver.tolist() == [v for _, v in rows]
    assert csr.degree.tolist() == [sum(v == w for _, w in edges) for v in range(5)]
    assert csr.num_receivers == 5
    check_csr(csr.rowptr, csr.sender, 7)


def test_the_sort_is_kept_and_redone_after_a_change_in_place() -> None:
    edge_index = as_tensor([(0, 1), (1, 0), (2, 1)])
    first = receiver_csr(edge_index, 3, 3)
    assert receiver_csr(edge_index, 3, 3) is first
    assert receiver_csr(edge_index, 3, 4).num_receivers == 4
    edge_index[1, 0] = 2
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [1, 1, 1]
    edge_index[1, 0] = 7
    with pytest.raises(ValueError, match=r"edge_index\[1\] holds node index 7, but there are only 3 nodes"):
        receiver_csr(edge_index, 3, 3)


def test_the_kept_sort_dies_with_its_tensor() -> None:
    # A new tensor often takes the address of the one that died: it must never see the old edges.
    for target in range(50):
        edge_index = torch.tensor([[0], [target % 5]])
        assert receiver_csr(edge_index, 5, 5).degree.argmax() == target % 5
        del edge_index
    gc.collect()


def test_another_tensor_put_in_its_place_is_seen() -> None:
    edge_index = as_tensor([(0, 1), (1, 0), (2, 1)])
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [1, 2, 0]
    other = as_tensor([(0, 2), (1, 2), (2, 2)])
    edge_index.data = other
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [0, 0, 3]
    edge_index.data = other[:, :1]  # the same memory, fewer edges
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [0, 0, 1]
    edge_index.data = other.flip(0)
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [1, 1, 1]


def test_a_tensor_put_in_its_place_twice_is_seen() -> None:
    for _ in range(30):
        edge_index = torch.zeros(2, 200, dtype=torch.int64)
        receiver_csr(edge_index, 2, 2)
        edge_index.data = put_where_it_lay(edge_index, torch.ones(2, 200, dtype=torch.int64))
        assert receiver_csr(edge_index, 2, 2).degree.tolist() == [0, 200]


def test_a_check_of_contents_sees_what_torch_does_not_count() -> None:
    code = """
import torch
from mshgnn.ops import receiver_csr
edge_index = torch.tensor([[0, 1], [1, 0]])
first = receiver_csr(edge_index, 2, 2)
assert receiver_csr(edge_index, 2, 2) is first
edge_index.data.copy_(torch.tensor([[0, 1], [1, 1]]))
print(receiver_csr(edge_index, 2, 2).degree.tolist())
edge_index.numpy()[1] = 0
print(receiver_csr(edge_index, 2, 2).degree.tolist())
"""
    environment = {**os.environ, "MSHGNN_CHECK": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == ["[0, 2]", "[2, 0]"]


def test_fake_tensors_are_not_kept() -> None:
    edge_index = as_tensor([(0, 1), (1, 0), (2, 1)])
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(edge_index)
        assert receiver_csr(fake, 3, 3).rowptr.shape == (4,)
        receiver_csr(edge_index, 3, 3)  # real edges among fake tensors
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [1, 2, 0]
    with FakeTensorMode(allow_non_fake_inputs=True):
        receiver_csr(edge_index, 3, 3)
    assert receiver_csr(edge_index, 3, 3).degree.tolist() == [1, 2, 0]


def test_whoever_writes_to_the_edges_later_does_not_reach_the_sort() -> None:
    for edges in ([(0, 1), (1, 0), (2, 1)], [(0, 0), (1, 1), (2, 2)]):  # sorted, and sorted already
        edge_index = as_tensor(edges)
        csr = receiver_csr(edge_index, 3, 3)
        before = [part.clone() for part in csr]
        edge_index.data.fill_(10**6)
        for part, expected in zip(csr, before, strict=True):
            assert torch.equal(part, expected)


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0), (2, 1)], [(2, 0), (0, 1), (2, 1)]], ids=["unsorted", "sorted"])
def test_whoever_writes_to_the_edges_after_their_check_does_not_reach_the_sort(
    edges: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    edge_index = as_tensor(edges)

    def check(name: str, index: torch.Tensor, size: int) -> None:
        check_range(name, index, size)
        edge_index.data.fill_(10**6)  # as another thread may, between two steps of ours

    monkeypatch.setattr(graph, "check_range", check)
    csr = receiver_csr(edge_index, 3, 3)
    assert csr.degree.tolist() == [1, 2, 0]
    assert csr.sender.tolist() == [sender for sender, _ in sorted(edges, key=lambda edge: edge[1])]


@settings(deadline=None)
@given(edges=EDGE_LISTS)
def test_an_edge_list_says_the_same_in_the_given_order(edges: list[tuple[int, int]]) -> None:
    sender, receiver = as_tensor(edges)
    plain, csr = EdgeList(sender, receiver, torch.arange(len(edges)), 5), receiver_csr(as_tensor(edges), 7, 5)
    assert torch.equal(plain.degree, csr.degree)
    assert plain.num_receivers == csr.num_receivers
    for name in ("sender", "receiver"):
        assert torch.equal(getattr(plain, name)[csr.order], getattr(csr, name))


def test_tensors_made_in_inference_mode() -> None:
    with torch.inference_mode():
        edge_index = as_tensor([(0, 1), (1, 0)])
        assert receiver_csr(edge_index, 2, 2).sender.tolist() == [1, 0]
    assert receiver_csr(edge_index, 2, 2).sender.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("edge_index", "message"),
    [
        (torch.zeros(3, dtype=torch.int64), r"shape \[2, num_edges\], got \[3\]"),
        (torch.zeros(3, 2, dtype=torch.int64), r"got \[3, 2\]"),
        (torch.zeros(2, 3), "int32 or int64, got torch.float32"),
        (torch.tensor([[0], [-1]]), r"edge_index\[1\] holds the negative node index -1"),
        (torch.tensor([[-2], [0]]), r"edge_index\[0\] holds the negative node index -2"),
        (torch.tensor([[4], [0]]), r"edge_index\[0\] holds node index 4, but there are only 4 nodes"),
        (torch.tensor([[0], [2]]), r"edge_index\[1\] holds node index 2, but there are only 2 nodes"),
    ],
)
def test_bad_edges_are_refused(edge_index: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        receiver_csr(edge_index, 4, 2)


@pytest.mark.parametrize(
    ("rowptr", "sender", "message"),
    [
        ([0, 2, 1], [0], "rowptr must rise from 0 to the number of edges, 1"),
        ([1, 1, 1], [0], "rowptr must rise"),
        ([0, 1, 2], [0], "rowptr must rise"),
        ([0, 1, 1], [5], "sender holds node index 5"),
        ([0, 1, 1], [-1], "sender holds the negative node index -1"),
    ],
)
def test_a_broken_csr_is_refused(rowptr: list[int], sender: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_csr(torch.tensor(rowptr), torch.tensor(sender), 2)


def test_no_edges_and_no_nodes() -> None:
    empty = torch.empty(2, 0, dtype=torch.int64)
    assert receiver_csr(empty, 0, 0).num_receivers == 0
    assert receiver_csr(empty, 3, 3).degree.tolist() == [0, 0, 0]
    assert isinstance(receiver_csr(empty, 3, 3), ReceiverCSR)
