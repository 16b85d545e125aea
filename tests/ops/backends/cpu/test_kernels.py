"""What holds for the kernels of both kinds of phases."""

from __future__ import annotations

import pytest
import torch
from aggregate_cases import (
    GATES,
    KINDS,
    Case,
    assert_as_good_as_plain_float32,
    assert_same_bits,
    draw_kind,
    everything,
    random_edges,
    run,
)
from torch import Tensor

from mshgnn.ops import Factored, Generated, Inputs, harmonic_aggregate, last_backend, receiver_csr
from mshgnn.ops.backends import cpu, reference
from mshgnn.ops.inputs import GateActivation

pytestmark = pytest.mark.parametrize("kind", KINDS)


def drawn(kind: str, gate: GateActivation | None = "sigmoid") -> Case:
    return everything(draw_kind(kind, 30), random_edges(30, 30, 200), gate)


@pytest.mark.parametrize("gate", GATES)
def test_self_loops_and_duplicates(kind: str, gate: GateActivation | None) -> None:
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 1, 1, 0, 2, 2, 2]])
    assert_as_good_as_plain_float32(everything(draw_kind(kind, 3), edges, gate))


@pytest.mark.parametrize("num_nodes", [0, 1, 6])
@pytest.mark.parametrize("projections", [7, 8])
@pytest.mark.parametrize("gate", GATES)
def test_no_edges(kind: str, num_nodes: int, projections: int, gate: GateActivation | None) -> None:
    case = everything(draw_kind(kind, num_nodes, projections), torch.empty(2, 0, dtype=torch.long), gate)
    for name, value in run(case).items():
        assert torch.equal(value, torch.zeros_like(value)), name


def test_int32_indices_give_the_same_bits(kind: str) -> None:
    edges = random_edges(30, 30, 200)
    assert_same_bits(*(run(everything(draw_kind(kind, 30), index)) for index in (edges, edges.int())))


def test_non_contiguous_input_gives_the_same_bits(kind: str) -> None:
    case = drawn(kind)
    strided: dict[str, Tensor | None] = {}
    for name, tensor in case.inputs.tensors().items():
        if tensor is None or tensor.dim() == 1:
            strided[name] = None if tensor is None else torch.stack([tensor, tensor], 1)[:, 0]
        else:
            strided[name] = tensor.t().contiguous().t()
    # ``run`` clones, which keeps dense strides: the transposed ones stay transposed
    assert_same_bits(run(case), run(case._replace(inputs=case.inputs.with_tensors(strided))))


@pytest.mark.parametrize("gate", GATES)
def test_gradients_that_are_not_needed_do_not_change_the_others(kind: str, gate: GateActivation | None) -> None:
    case = drawn(kind, gate)
    expected = run(case)
    names = [name for name, tensor in case.inputs.tensors().items() if tensor is not None]
    for name in names:
        found = run(case, without=[other for other in names if other != name])
        # not the same bits: what nobody wants may be left out of a sum, which is then taken in another order
        size = expected[name].abs().max().item()
        torch.testing.assert_close(found[name], expected[name], rtol=0, atol=1e-5 * size, msg=name)


def test_one_gradient_of_two_outputs(kind: str) -> None:
    case = drawn(kind)
    inputs, plain = case.at(torch.float32), case.at(torch.float32)
    for index in (0, 1):
        found, expected = (
            torch.autograd.grad(
                aggregate(given)[index],  # type: ignore[arg-type]
                [t for t in given.tensors().values() if t is not None],
                case.gradients[index].float(),
                materialize_grads=True,
            )
            for aggregate, given in ((cpu.aggregate, inputs), (reference.aggregate, plain))
        )
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_backward_twice_through_a_kept_graph(kind: str) -> None:
    inputs = drawn(kind, None).at(torch.float32)
    total, _ = harmonic_aggregate(inputs)
    assert last_backend() == "fused"
    leaves = [t for t in inputs.tensors().values() if t is not None]
    first = torch.autograd.grad(total.sum(), leaves, retain_graph=True)
    for a, b in zip(first, torch.autograd.grad(total.sum(), leaves), strict=True):
        assert torch.equal(a, b)


def test_huge_and_infinite_phases_do_what_the_reference_does(kind: str) -> None:
    phase = torch.tensor([[1e7, -3e8, 1e30, 1.0, float("inf"), float("nan"), 0.0, 2e6]])
    graph = receiver_csr(torch.zeros(2, 1, dtype=torch.long), 1, 1)
    zeros = torch.zeros(1, 8)
    phases: Generated | Factored
    if kind == "generated":
        phases = Generated(zeros, zeros, torch.zeros(64, 8), torch.zeros(64), phase)
    elif kind == "factored":
        phases = Factored(phase, zeros, 8)
    else:
        phases = Factored(torch.cat([phase, zeros], 1), None, 8)
    inputs = Inputs(phases, graph, torch.tensor([1.0]))
    found, expected = cpu.aggregate(inputs)[0], reference.aggregate(inputs)[0]
    torch.testing.assert_close(found, expected, equal_nan=True, atol=2e-7, rtol=0)
