"""The fused kernels against the reference: outputs and every gradient, measured against float64."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mshgnn.ops import ReceiverCSR, cpu, harmonic_aggregate, last_backend, receiver_csr
from mshgnn.ops.fused import harmonic_aggregate_fused
from mshgnn.ops.reference import harmonic_aggregate_reference

DOUBLING = (1.0, 2.0, 4.0)
NAMES = ("x_receiver", "x_sender", "weight", "bias", "phase", "frequencies", "edge_phase", "gate")


class Case(NamedTuple):
    """One call in float64, with gradients for both outputs."""

    inputs: list[Tensor | None]  # in the order of NAMES
    csr: ReceiverCSR
    activation: str
    grads: list[Tensor]


def make_case(
    edge_index: Tensor,
    num_senders: int,
    num_receivers: int,
    *,
    width: int = 16,
    projections: int = 8,
    receiver_width: int | None = None,
    frequencies: tuple[float, ...] = DOUBLING,
    phase: bool = True,
    edge_phase: bool = False,
    gate: str | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> Case:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        # exactly representable in float32, so that all precisions start from the same numbers
        return torch.randn(shape, generator=generator).double()

    d = receiver_width or width
    out = 2 * len(frequencies) * projections
    inputs = [
        normal(num_receivers, d),
        normal(num_senders, width),
        (normal(projections * width, d) * scale * 0.2 / (d * width) ** 0.5).float().double(),
        (normal(projections * width) * scale / width**0.5).float().double(),
        normal(num_receivers, projections) if phase else None,
        torch.tensor(frequencies).double(),
        normal(edge_index.size(1), projections) if edge_phase else None,
        (normal(out) * 0.3).float().double() if gate else None,
    ]
    grads = [normal(num_receivers, out) for _ in range(2 if gate else 1)]
    return Case(inputs, receiver_csr(edge_index, num_senders, num_receivers), gate or "sigmoid", grads)


def run(case: Case, dtype: torch.dtype, fused: bool) -> dict[str, Tensor]:
    inputs = [None if t is None else t.to(dtype).clone().requires_grad_() for t in case.inputs]
    aggregate = harmonic_aggregate_fused if fused else harmonic_aggregate_reference
    x_receiver, x_sender, weight, bias, phase, frequencies, edge_phase, gate = inputs
    assert x_receiver is not None
    assert x_sender is not None
    assert weight is not None
    assert bias is not None
    assert frequencies is not None
    outputs = aggregate(
        x_receiver, x_sender, weight, bias, phase, case.csr, frequencies, edge_phase, gate, case.activation
    )
    wanted = {name: t for name, t in zip(NAMES, inputs, strict=True) if t is not None}
    given_outputs = [t for t in outputs if t is not None]
    gradients = torch.autograd.grad(given_outputs, list(wanted.values()), [g.to(dtype) for g in case.grads])
    return {
        **{f"output {i}": t.detach() for i, t in enumerate(given_outputs)},
        **dict(zip(wanted, gradients, strict=True)),
    }


def assert_as_good_as_reference(case: Case, factor: float = 3.0) -> None:
    truth = run(case, torch.float64, fused=False)
    plain = run(case, torch.float32, fused=False)
    fused = run(case, torch.float32, fused=True)
    assert fused.keys() == truth.keys()
    for name, expected in truth.items():
        assert fused[name].shape == expected.shape, name
        assert torch.isfinite(fused[name]).all(), name
        if expected.numel() == 0:
            continue
        error = (fused[name].double() - expected).abs().max().item()
        # A single number may come out exact by luck: a few roundings of its size are always allowed.
        allowed = factor * (plain[name].double() - expected).abs().max().item()
        luck = 8 * torch.finfo(torch.float32).eps * expected.abs().max().item()
        if expected.numel() < 50:  # few numbers, much luck: sums over all edges
            luck *= 1 + case.csr.sender.numel() ** 0.5 / 4
        assert error <= allowed + luck, f"{name}: error {error:.2e}, reference makes {allowed / factor:.2e}"


def random_edges(num_senders: int, num_receivers: int, num_edges: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    senders = torch.randint(num_senders, (num_edges,), generator=generator)
    return torch.stack([senders, torch.randint(num_receivers, (num_edges,), generator=generator)])


@pytest.mark.parametrize("width", [1, 5, 64, 100])
@pytest.mark.parametrize("projections", [1, 7, 16, 33])
@pytest.mark.parametrize("gate", [None, "sigmoid", "softmax"])
def test_odd_sizes(projections: int, width: int, gate: str | None) -> None:
    case = make_case(
        random_edges(30, 30, 200), 30, 30, width=width, projections=projections, gate=gate, edge_phase=width == 5
    )
    assert_as_good_as_reference(case)


@pytest.mark.parametrize("frequencies", [(1.0,), (0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 2.0, 3.0), (0.37, 1.9)])
@pytest.mark.parametrize("gate", [None, "sigmoid", "softmax"])
def test_frequency_sets(frequencies: tuple[float, ...], gate: str | None) -> None:
    case = make_case(random_edges(25, 25, 150), 25, 25, frequencies=frequencies, gate=gate, edge_phase=True)
    assert_as_good_as_reference(case)


@pytest.mark.parametrize("register", [8, 16])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 1000, 10_000])
def test_degrees(degree: int, register: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # both ways to group the sums, whatever this processor has
    monkeypatch.setattr(cpu, "register_width", lambda: register)
    # one hub, a node without edges, and a few ordinary ones
    hub = torch.stack([torch.arange(degree) % 40, torch.zeros(degree, dtype=torch.long)])
    edges = torch.cat([hub, random_edges(40, 38, 60) + torch.tensor([[0], [1]])], 1)
    for gate in (None, "sigmoid", "softmax"):
        assert_as_good_as_reference(make_case(edges, 40, 40, gate=gate, projections=16))


def test_several_tiles_and_chunks() -> None:
    # 9,000 receivers of 64 x 16 projections are beyond one tile, one chunk and the size that is kept for backward
    case = make_case(random_edges(9000, 9000, 16000), 9000, 9000, width=64, projections=16, gate="sigmoid")
    assert_as_good_as_reference(case)


def test_bipartite_with_other_receiver_width() -> None:
    case = make_case(random_edges(50, 20, 150), 50, 20, width=12, receiver_width=7, projections=5, gate="softmax")
    assert_as_good_as_reference(case)


def test_self_loops_and_duplicates() -> None:
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 1, 1, 0, 2, 2, 2]])
    for gate in (None, "sigmoid", "softmax"):
        assert_as_good_as_reference(make_case(edges, 3, 3, gate=gate, edge_phase=True))


@pytest.mark.parametrize("num_nodes", [0, 1, 6])
@pytest.mark.parametrize("gate", [None, "sigmoid", "softmax"])
def test_no_edges(num_nodes: int, gate: str | None) -> None:
    case = make_case(torch.empty(2, 0, dtype=torch.long), num_nodes, num_nodes, gate=gate)
    for name, value in run(case, torch.float32, fused=True).items():
        assert torch.equal(value, torch.zeros_like(value)), name


def test_without_phase() -> None:
    assert_as_good_as_reference(make_case(random_edges(20, 20, 90), 20, 20, phase=False))


def test_int32_indices_give_the_same_bits() -> None:
    edges = random_edges(40, 40, 300)
    wide = run(make_case(edges, 40, 40, gate="sigmoid"), torch.float32, fused=True)
    narrow = run(make_case(edges.int(), 40, 40, gate="sigmoid"), torch.float32, fused=True)
    for name in wide:
        assert torch.equal(wide[name], narrow[name]), name


def test_non_contiguous_input_gives_the_same_bits() -> None:
    case = make_case(random_edges(30, 30, 200), 30, 30, gate="sigmoid", edge_phase=True)
    strided: list[Tensor | None] = []
    for tensor in case.inputs:
        if tensor is None or tensor.dim() == 1:
            strided.append(None if tensor is None else torch.stack([tensor, tensor], 1)[:, 0])
        else:
            strided.append(tensor.t().contiguous().t())
    expected = run(case, torch.float32, fused=True)
    # ``run`` clones, which keeps dense strides: the transposed ones stay transposed
    found = run(case._replace(inputs=strided), torch.float32, fused=True)
    for name in expected:
        assert torch.equal(expected[name], found[name]), name


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_large_phases(size: float) -> None:
    # F_v h_u = 0, so that the phase is exactly the number given and the reference is exact to the last bit
    num_nodes, projections = 50, 16
    edges = torch.stack([torch.arange(num_nodes), torch.arange(num_nodes)])
    x = torch.zeros(num_nodes, 4)
    weight, bias = torch.zeros(projections * 4, 4), torch.zeros(projections * 4)
    phase = (torch.rand(num_nodes, projections, generator=torch.Generator().manual_seed(0)) * 2 - 1) * size
    csr = receiver_csr(edges, num_nodes, num_nodes)
    frequencies = torch.tensor([1.0, 3.0])
    found, _ = harmonic_aggregate_fused(x, x, weight, bias, phase, csr, frequencies, None, None, "sigmoid")
    angle = (phase.unsqueeze(1) * frequencies.view(1, -1, 1)).double()  # the product is rounded in float32, as always
    expected = torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
    assert (found.double() - expected).abs().max() < 2e-7


def test_huge_and_infinite_phases_do_what_the_reference_does() -> None:
    phase = torch.tensor([[1e7, -3e8, 1e30, 1.0, float("inf"), float("nan"), 0.0, 2e6]])
    csr = receiver_csr(torch.zeros(2, 1, dtype=torch.long), 1, 1)
    x, weight, bias = torch.zeros(1, 4), torch.zeros(32, 4), torch.zeros(32)
    arguments = (x, x, weight, bias, phase, csr, torch.tensor([1.0]), None, None, "sigmoid")
    found, expected = harmonic_aggregate_fused(*arguments)[0], harmonic_aggregate_reference(*arguments)[0]
    torch.testing.assert_close(found, expected, equal_nan=True, atol=2e-7, rtol=0)


def test_gradients_that_are_not_needed_do_not_change_the_others() -> None:
    case = make_case(random_edges(30, 30, 200), 30, 30, gate="sigmoid")
    everything = run(case, torch.float32, fused=True)
    inputs = [None if t is None else t.float() for t in case.inputs]
    weight = inputs[2]
    assert weight is not None
    weight.requires_grad_()
    x_receiver, x_sender, _, bias, phase, frequencies, _, gate = inputs
    assert x_receiver is not None
    assert x_sender is not None
    assert bias is not None
    assert frequencies is not None
    total, gated = harmonic_aggregate_fused(
        x_receiver, x_sender, weight, bias, phase, case.csr, frequencies, None, gate, "sigmoid"
    )
    assert gated is not None
    (gradient,) = torch.autograd.grad([total, gated], [weight], [g.float() for g in case.grads])
    assert torch.equal(gradient, everything["weight"])


def test_backward_twice_through_a_kept_graph() -> None:
    case = make_case(random_edges(30, 30, 200), 30, 30)
    x = torch.randn(30, 16, requires_grad=True)
    rest = [None if t is None else t.float() for t in case.inputs]
    total, _ = harmonic_aggregate(x, x, rest[2], rest[3], rest[4], case.csr, rest[5])  # type: ignore[arg-type]
    assert last_backend() == "fused"
    (first,) = torch.autograd.grad(total.sum(), x, retain_graph=True)
    (second,) = torch.autograd.grad(total.sum(), x)
    assert torch.equal(first, second)


graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
    )
)


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs,
    width=st.integers(1, 20),
    projections=st.integers(1, 20),
    frequencies=st.sampled_from([(1.0, 2.0, 4.0), (1.0,), (0.7, 1.3)]),
    gate=st.sampled_from([None, "sigmoid", "softmax"]),
    phase=st.booleans(),
    edge_phase=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_generated_graphs(
    graph: tuple[int, list[tuple[int, int]]],
    width: int,
    projections: int,
    frequencies: tuple[float, ...],
    gate: str | None,
    phase: bool,
    edge_phase: bool,
    seed: int,
) -> None:
    num_nodes, pairs = graph
    edges = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()
    case = make_case(
        edges, num_nodes, num_nodes, width=width, projections=projections, frequencies=frequencies, phase=phase,
        edge_phase=edge_phase, gate=gate, seed=seed,
    )  # fmt: skip
    plain, fused = (run(case, torch.float32, fused=choice) for choice in (False, True))
    for name, expected in plain.items():
        size = expected.abs().max().item() if expected.numel() else 0.0
        torch.testing.assert_close(fused[name], expected, rtol=1e-4, atol=2e-5 * max(size, 1.0))
