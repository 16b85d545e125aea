"""The one object of arguments: what it refuses, by name, and what it says about itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops import Factored, Generated, Inputs, ReceiverCSR, harmonic_aggregate, receiver_csr
from mshgnn.ops.backends import cpu, reference


def drawn(kind: str, dtype: torch.dtype = torch.float64) -> Inputs:
    """Four receivers of width 3, three senders of width 2, six edges, two projections, three frequencies."""

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype)

    senders, receivers = torch.randint(3, (6,)), torch.randint(4, (6,))
    phases: Generated | Factored
    num_senders = 3
    if kind == "generated":
        phases = Generated(draw(4, 3), draw(3, 2), draw(4, 3), draw(4), draw(4, 2))
    elif kind == "factored":
        phases = Factored(draw(4, 6), draw(3, 6), 2)
    else:
        phases, num_senders = Factored(draw(4, 12), None, 2), 4
    graph = receiver_csr(torch.stack([senders, receivers]), num_senders, 4)
    return Inputs(phases, graph, draw(3), draw(6, 2), draw(6), draw(12))


def replaced(inputs: Inputs, name: str, value: Any) -> Inputs:
    if name in inputs.phases._fields:
        return inputs._replace(phases=inputs.phases._replace(**{name: value}))
    return inputs._replace(**{name: value})


def ones(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.ones(shape, dtype=dtype)


BESIDE = [
    ("frequencies", ones(3, dtype=torch.float32), "frequencies must be torch.float64 like the others, got torch.fl"),
    ("frequencies", ones(3, 1), r"frequencies must have shape \[3\], got \[3, 1\]"),
    ("edge_phase", ones(5, 2), r"edge_phase must have shape \[6, 2\], got \[5, 2\]"),
    ("edge_phase", ones(6, 3), r"edge_phase must have shape \[6, 2\], got \[6, 3\]"),
    ("edge_weight", ones(5), r"edge_weight must have shape \[6\], got \[5\]"),
    ("edge_weight", ones(6, 1), r"edge_weight must have shape \[6\], got \[6, 1\]"),
    ("edge_weight", ones(6, dtype=torch.float32), "edge_weight must be torch.float64 like the others"),
    ("gate", ones(7), r"gate must have shape \[12\], got \[7\]"),
    ("gate_activation", "tanh", "gate_activation must be 'sigmoid' or 'softmax', got 'tanh'"),
]
GENERATED = [
    ("x_receiver", ones(4), r"x_receiver must have two dimensions, got shape \[4\]"),
    ("x_receiver", ones(4, 3, dtype=torch.int64), "x_receiver must be a floating point tensor, got torch.int64"),
    ("x_sender", ones(3), r"x_sender must have two dimensions, got shape \[3\]"),
    ("x_sender", ones(3, 2, dtype=torch.int64), "x_sender must be torch.float64 like the others, got torch.int64"),
    ("x_sender", ones(3, 2, dtype=torch.float32), "x_sender must be torch.float64 like the others, got torch.float32"),
    ("x_sender", ones(3, 0), r"weight must have num_projections \* 0 rows"),
    ("weight", ones(5, 3), r"weight must have num_projections \* 2 rows for x_sender of width 2, got 5"),
    ("weight", ones(4, 2), r"weight must have shape \[4, 3\], got \[4, 2\]"),
    ("bias", ones(3), r"bias must have shape \[4\], got \[3\]"),
    ("phase", ones(4, 3), r"phase must have shape \[4, 2\], got \[4, 3\]"),
]
FACTORED = [
    ("receiver", ones(4), r"receiver must have two dimensions and a multiple of 2 columns, got shape \[4\]"),
    ("receiver", ones(4, 5), r"a multiple of 2 columns, got shape \[4, 5\]"),
    ("receiver", ones(4, 0), r"a multiple of 2 columns, got shape \[4, 0\]"),
    ("receiver", ones(4, 6, dtype=torch.int64), "receiver must be a floating point tensor, got torch.int64"),
    ("receiver", ones(4, 8), r"sender must have shape \[3, 8\], got \[3, 6\]"),
    ("sender", ones(3), r"sender must have two dimensions, got shape \[3\]"),
    ("sender", ones(3, 6, dtype=torch.float32), "sender must be torch.float64 like the others, got torch.float32"),
]
ONE_TABLE = [
    ("receiver", ones(4, 6), r"a multiple of 4 columns, got shape \[4, 6\]"),
    ("receiver", ones(5, 12), r"graph.rowptr must have shape \[6\], got \[5\]"),
]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        *(("generated", *row) for row in GENERATED + BESIDE),
        *(("factored", *row) for row in FACTORED + BESIDE),
        *(("one table", *row) for row in ONE_TABLE + BESIDE),
    ],
)
def test_bad_arguments_are_refused_by_name(kind: str, name: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        harmonic_aggregate(replaced(drawn(kind), name, value))


@pytest.mark.parametrize("kind", ["generated", "factored", "one table"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_broken_graph_never_reaches_the_arithmetic(kind: str, dtype: torch.dtype) -> None:
    inputs = drawn(kind, dtype)
    graph = inputs.graph
    assert isinstance(graph, ReceiverCSR)
    for broken, message in (
        (graph._replace(sender=graph.sender + 7), "sender holds node index"),
        (graph._replace(sender=graph.sender - 7), "sender holds the negative node index"),
        (graph._replace(rowptr=graph.rowptr.flip(0)), "rowptr must rise"),
        (graph._replace(rowptr=graph.rowptr[:-1]), r"graph\.rowptr must have shape \[5\], got \[4\]"),
        (graph._replace(sender=graph.sender.to(dtype)), r"graph\.sender must be int32 or int64, got torch\.float"),
        (graph._replace(rowptr=graph.rowptr.to(dtype)), r"graph\.rowptr must be int32 or int64, got torch\.float"),
    ):
        with pytest.raises(UserError, match=message):
            harmonic_aggregate(inputs._replace(graph=broken))


def test_sizes() -> None:
    full, two, one = (drawn(kind).phases for kind in ("generated", "factored", "one table"))
    assert [p.num_projections for p in (full, two, one)] == [2, 2, 2]
    assert [p.num_receivers for p in (full, two, one)] == [4, 4, 4]
    assert [p.num_senders for p in (full, two, one)] == [3, 3, 4]
    assert isinstance(two, Factored)
    assert isinstance(one, Factored)
    assert two.rank == one.rank == 2
    inputs = drawn("factored")
    assert inputs.out_channels == 12
    assert inputs._replace(frequencies=ones(0)).out_channels == 2


def test_halves_are_the_blocks_of_both_sides() -> None:
    table = torch.arange(24.0).view(2, 12)
    receiver, sender = Factored(table, None, 2).halves()
    assert receiver[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert sender[0].tolist() == [[6, 7], [8, 9], [10, 11]]
    apart = Factored(table[:, :6], table[:, 6:], 2).halves()
    assert torch.equal(apart[0], receiver)
    assert torch.equal(apart[1], sender)


@pytest.mark.parametrize("kind", ["generated", "factored", "one table"])
def test_tensors_go_out_and_come_back(kind: str) -> None:
    inputs = drawn(kind)
    doubled = inputs.with_tensors({name: None if t is None else 2 * t for name, t in inputs.tensors().items()})
    for name, tensor in inputs.tensors().items():
        found = doubled.tensors()[name]
        assert (tensor is None) == (found is None)
        if tensor is not None and found is not None:
            assert torch.equal(found, 2 * tensor)
    assert doubled.graph is inputs.graph
    assert doubled.phases.num_projections == inputs.phases.num_projections


@pytest.mark.parametrize("kind", ["generated", "factored", "one table"])
def test_every_tensor_has_a_gradient_of_its_own(kind: str) -> None:
    inputs = drawn(kind, torch.float32)
    names = [name for name, t in inputs.tensors().items() if t is not None]
    for aggregate in (cpu.aggregate, reference.aggregate):
        leaves = {name: None if t is None else t.clone().requires_grad_() for name, t in inputs.tensors().items()}
        total, gated = aggregate(inputs.with_tensors(leaves))
        assert gated is not None
        wanted = [t for t in leaves.values() if t is not None]
        found = torch.autograd.grad(total.sum() + gated.square().sum(), wanted)
        assert [g.shape for g in found] == [t.shape for t in wanted]
        assert all(g.abs().sum() > 0 for g in found), names
