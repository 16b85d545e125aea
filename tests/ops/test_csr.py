from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mshgnn.ops import ReceiverCSR, receiver_csr
from mshgnn.ops.csr import check_csr

EDGE_LISTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=20)


def as_tensor(edges: list[tuple[int, int]], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor(edges, dtype=dtype).reshape(-1, 2).t().contiguous()


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
