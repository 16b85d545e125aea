"""The kernels as torch operators: opcheck, compile, export, derivatives of every kind, tensors that have no numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from aggregate_cases import KINDS, Case, assert_same_bits, draw_kind, everything, make_case, random_edges, run
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from mshgnn.ops import Factored, Generated, Inputs, harmonic_aggregate, last_backend, receiver_csr
from mshgnn.ops.backends import cpu, reference
from mshgnn.ops.backends.cpu import factored, generated
from mshgnn.ops.backends.cpu.operator import _flatten
from mshgnn.ops.inputs import GateActivation

NUM_NODES, PROJECTIONS = 12, 3
ACTIVATIONS: tuple[GateActivation, ...] = ("sigmoid", "softmax")

every_kind = pytest.mark.parametrize("kind", KINDS)


def drawn(kind: str, gate: GateActivation | None = "sigmoid") -> Case:
    return everything(draw_kind(kind, NUM_NODES, PROJECTIONS), random_edges(NUM_NODES, NUM_NODES, 30), gate)


def leaves(inputs: Inputs) -> list[Tensor]:
    return [t for t in inputs.tensors().values() if t is not None]


def operator(kind: str) -> Any:
    return torch.ops.mshgnn.harmonic_aggregate if kind == "generated" else torch.ops.mshgnn.harmonic_aggregate_factored


class Layer(nn.Module):
    """The phases are made from features by a linear map; the edges are an argument."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.kind = kind
        size = PROJECTIONS * 6 if kind == "generated" else 2 * 3 * PROJECTIONS
        self.weight = nn.Parameter(torch.randn(size, 6, generator=generator) * 0.2)
        self.bias = nn.Parameter(torch.randn(size, generator=generator) * 0.4)
        self.gate = nn.Parameter(torch.randn(4 * PROJECTIONS, generator=generator))
        self.frequencies = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        graph = receiver_csr(edge_index, x.size(0), x.size(0))
        phases: Generated | Factored
        if self.kind == "generated":
            phases = Generated(x, x, self.weight, self.bias, None)
        else:
            table = nn.functional.linear(x, self.weight, self.bias)
            receiver, sender = table.chunk(2, dim=1)
            apart = Factored(receiver, sender, PROJECTIONS)
            phases = Factored(table, None, PROJECTIONS) if self.kind == "one table" else apart
        total, gated = harmonic_aggregate(Inputs(phases, graph, self.frequencies, gate=self.gate))
        assert gated is not None
        return total + gated


def features(seed: int = 0) -> Tensor:
    return torch.randn(NUM_NODES, 6, generator=torch.Generator().manual_seed(seed))


@every_kind
@pytest.mark.parametrize("training", [True, False])
def test_inference_keeps_nothing_for_a_backward_pass(
    kind: str, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = generated if kind == "generated" else factored
    kept = []
    forward = module.forward

    def watched(*arguments: Any) -> Any:
        result = forward(*arguments)
        kept.append(result[2] is not None)
        return result

    monkeypatch.setattr(module, "forward", watched)
    with torch.set_grad_enabled(training):
        Layer(kind)(features(), random_edges(NUM_NODES, NUM_NODES, 30))
    assert kept == [training]


@every_kind
@pytest.mark.parametrize("gate", [None, *ACTIVATIONS])
@pytest.mark.parametrize("optional", [False, True])
def test_opcheck(kind: str, gate: GateActivation | None, optional: bool) -> None:
    phases = draw_kind(kind, NUM_NODES, PROJECTIONS)
    if isinstance(phases, Generated) and not optional:
        phases = phases._replace(phase=None)
    edges = random_edges(NUM_NODES, NUM_NODES, 30)
    case = make_case(phases, edges, edge_phase=optional, edge_weight=optional, gate=gate)
    torch.library.opcheck(operator(kind).default, _flatten(case.at(torch.float32)))


@every_kind
def test_the_operator_gives_the_bits_of_the_eager_call(kind: str) -> None:
    case = drawn(kind)
    assert_same_bits(run(case), run(case, lambda inputs: operator(kind)(*_flatten(inputs))))


@every_kind
def test_compile_whole_and_dynamic(kind: str) -> None:
    layer = Layer(kind)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for num_edges in (30, 45, 7):
        x, edges = features(num_edges).requires_grad_(), random_edges(NUM_NODES, NUM_NODES, num_edges, seed=num_edges)
        expected, found = layer(x, edges), compiled(x, edges)
        assert torch.equal(found, expected)
        parameters = [x, *layer.parameters()]
        for a, b in zip(
            torch.autograd.grad(found.sum(), parameters), torch.autograd.grad(expected.sum(), parameters), strict=True
        ):
            assert torch.equal(a, b)


@every_kind
def test_export(kind: str) -> None:
    layer = Layer(kind)
    arguments = (features(), random_edges(NUM_NODES, NUM_NODES, 30))
    exported = torch.export.export(layer, arguments)
    assert any("harmonic_aggregate" in str(node.target) for node in exported.graph.nodes)
    assert torch.equal(exported.module()(*arguments), layer(*arguments))


def second_derivatives(inputs: Inputs, backend: Any) -> list[Tensor]:
    total, gated = backend(inputs)
    first = torch.autograd.grad(total.sin().sum() + gated.square().sum(), leaves(inputs), create_graph=True)
    second = torch.autograd.grad(sum((g.square().sum() for g in first), torch.zeros(())), leaves(inputs))
    return [*first, *second]


@every_kind
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_double_backward_is_the_reference(kind: str, activation: GateActivation) -> None:
    case = drawn(kind, activation)
    ways = [cpu.aggregate, lambda inputs: operator(kind)(*_flatten(inputs))]
    expected = second_derivatives(case.at(torch.float64), reference.aggregate)
    for way in ways:
        for found, truth in zip(second_derivatives(case.at(torch.float32), way), expected, strict=True):
            torch.testing.assert_close(found.double(), truth, rtol=1e-4, atol=2e-5 * float(truth.detach().abs().max()))


def test_double_backward_with_one_tensor_in_two_places() -> None:
    edges = random_edges(NUM_NODES, NUM_NODES, 30)
    draw = draw_kind("generated", NUM_NODES, PROJECTIONS)
    assert isinstance(draw, Generated)
    case = make_case(draw._replace(x_receiver=draw.x_sender), edges, gate="sigmoid")

    def gradients(dtype: torch.dtype, backend: Any) -> list[Tensor]:
        inputs = case.at(dtype)
        assert isinstance(inputs.phases, Generated)
        x = inputs.phases.x_sender
        total, _ = backend(inputs._replace(phases=inputs.phases._replace(x_receiver=x)))
        (first,) = torch.autograd.grad(total.sin().sum(), x, create_graph=True)
        return [first, *torch.autograd.grad(first.square().sum(), x)]

    for found, truth in zip(
        gradients(torch.float32, cpu.aggregate), gradients(torch.float64, reference.aggregate), strict=True
    ):
        torch.testing.assert_close(found.double(), truth, rtol=1e-4, atol=2e-5 * float(truth.detach().abs().max()))


def central_difference(case: Case, direction: dict[str, Tensor], step: float = 1e-5) -> Tensor:
    """The derivative of ``S`` along a direction, from two values of the reference in float64."""
    ends = []
    for sign in (1.0, -1.0):
        moved = {
            name: None if t is None else t + sign * step * direction[name] for name, t in case.inputs.tensors().items()
        }
        ends.append(reference.aggregate(case.inputs.with_tensors(moved))[0])
    return (ends[0] - ends[1]) / (2 * step)


@every_kind
def test_forward_mode_takes_the_reference_and_has_the_right_tangent(kind: str) -> None:
    case = drawn(kind)
    direction = {name: torch.randn_like(t) for name, t in case.inputs.tensors().items() if t is not None}
    for requires_grad in (False, True):
        inputs = case.at(torch.float32)
        with forward_ad.dual_level():
            dual = {
                name: None
                if t is None
                else forward_ad.make_dual(t if requires_grad else t.detach(), direction[name].float())  # type: ignore[no-untyped-call]
                for name, t in inputs.tensors().items()
            }
            total, _ = harmonic_aggregate(inputs.with_tensors(dual))
            tangent = forward_ad.unpack_dual(total).tangent  # type: ignore[no-untyped-call]
        assert last_backend() == "reference"
        assert tangent is not None
        expected = central_difference(case, direction)
        torch.testing.assert_close(tangent.double(), expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


@every_kind
def test_transforms_of_torch_func_take_the_reference(kind: str) -> None:
    inputs = drawn(kind).at(torch.float32)
    name, example = next(iter(inputs.tensors().items()))
    assert example is not None

    def loss(x: Tensor) -> Tensor:
        total, _ = harmonic_aggregate(inputs.with_tensors({**inputs.tensors(), name: x}))
        return total.square().sum()

    (expected,) = torch.autograd.grad(loss(example), example)
    assert last_backend() == "fused"
    for transform in (torch.func.grad, torch.func.jacfwd):
        found = transform(loss)(example.detach())
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))
        assert last_backend() == "reference"


@every_kind
def test_inference_mode(kind: str) -> None:
    layer, x, edges = Layer(kind), features(), random_edges(NUM_NODES, NUM_NODES, 30)
    expected = layer(x, edges)
    with torch.inference_mode():
        assert torch.equal(layer(x, edges), expected)
        assert torch.equal(layer(x.clone(), edges.clone()), expected)
    assert torch.equal(layer(x, edges), expected)


@every_kind
def test_fake_tensors_get_shapes_and_leave_no_trace(kind: str) -> None:
    layer, x, edges = Layer(kind), features(), random_edges(NUM_NODES, NUM_NODES, 30)
    expected = layer(x, edges)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        shaped = layer(mode.from_tensor(x), mode.from_tensor(edges))
    assert shaped.shape == expected.shape
    assert torch.equal(layer(x, edges), expected)


@every_kind
def test_real_edges_seen_first_among_fake_tensors_keep_no_fakes(kind: str) -> None:
    layer, x, edges = Layer(kind), features(), random_edges(NUM_NODES, NUM_NODES, 30)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        layer(mode.from_tensor(x), edges)
    assert torch.equal(layer(x, edges), layer(x, edges.clone()))
