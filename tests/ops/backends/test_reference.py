"""Plain torch against Python's own arithmetic, and the factored phase against the full generator it stands for."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mshgnn.ops import Factored, Generated, Inputs, edge_phases, gate_values, harmonic_encoding, receiver_csr
from mshgnn.ops.backends.reference import aggregate
from mshgnn.ops.graph import EdgeList
from mshgnn.ops.inputs import GateActivation

KINDS = ("generated", "factored", "one table")
ACTIVATIONS: tuple[GateActivation, ...] = ("sigmoid", "softmax")


def drawn(kind: str, receivers: int, senders: int, edges: int, bands: int, rank: int = 2, seed: int = 0) -> Inputs:
    """A random call: receivers of width 3, senders of width 2, two projections."""
    generator = torch.Generator().manual_seed(seed)
    if kind == "one table":
        senders = receivers
    if not receivers or not senders:
        edges = 0

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    sender = torch.randint(0, max(senders, 1), (edges,), generator=generator)
    receiver = torch.randint(0, max(receivers, 1), (edges,), generator=generator)
    phases: Generated | Factored
    if kind == "generated":
        phases = Generated(draw(receivers, 3), draw(senders, 2), draw(4, 3), draw(4), draw(receivers, 2))
    elif kind == "factored":
        phases = Factored(draw(receivers, 2 * (rank + 1)), draw(senders, 2 * (rank + 1)), 2)
    else:
        phases = Factored(draw(receivers, 4 * (rank + 1)), None, 2)
    return Inputs(
        phases,
        receiver_csr(torch.stack([sender, receiver]), senders, receivers),
        torch.tensor([1.0, 2.0, 4.0, 0.3], dtype=torch.float64)[:bands],
        draw(edges, 2),
        draw(edges),
        draw(4 * bands or 2),
    )


def phase_by_hand(phases: Generated | Factored, v: int, u: int) -> list[float]:
    """The two phases of one edge."""
    if isinstance(phases, Generated):
        assert phases.phase is not None
        h_v, h_u, weight = phases.x_receiver[v].tolist(), phases.x_sender[u].tolist(), phases.weight.tolist()
        result = phases.phase[v].tolist()
        for f in range(2):
            for i in range(2):
                entry = sum(w * h for w, h in zip(weight[2 * f + i], h_v, strict=True)) + float(phases.bias[2 * f + i])
                result[f] += entry * h_u[i]
        return result
    receiver = phases.receiver[v].tolist()
    if phases.sender is None:
        half = len(receiver) // 2
        sender, receiver = phases.receiver[u].tolist()[half:], receiver[:half]
    else:
        sender = phases.sender[u].tolist()
    result = [receiver[f] + sender[f] for f in range(2)]
    for place in range(2, len(receiver)):
        result[place % 2] += receiver[place] * sender[place]
    return result


def by_hand(inputs: Inputs) -> tuple[list[list[float]], list[list[float]]]:
    """The same sums with Python's floats and ``math``."""
    assert inputs.edge_phase is not None
    assert inputs.edge_weight is not None
    assert inputs.gate is not None
    sums, gated = [], []
    receivers, senders = inputs.graph.receiver.tolist(), inputs.graph.sender.tolist()
    for v in range(inputs.phases.num_receivers):
        encoded, weights = [], []
        for e in (e for e, receiver in enumerate(receivers) if receiver == v):
            shift = inputs.edge_phase[e].tolist()
            p = [a + b for a, b in zip(phase_by_hand(inputs.phases, v, senders[e]), shift, strict=True)]
            frequencies = inputs.frequencies.tolist()
            encoded.append([g(w * q) for w in frequencies for g in (math.sin, math.cos) for q in p] or p)
            weights.append(float(inputs.edge_weight[e]))
        logits = [sum(a * q for a, q in zip(inputs.gate.tolist(), psi, strict=True)) for psi in encoded]
        if inputs.gate_activation == "sigmoid":
            alphas = [1 / (1 + math.exp(-logit)) for logit in logits]
        else:
            alphas = [math.exp(logit) / sum(map(math.exp, logits)) for logit in logits]
        width = inputs.gate.numel()
        sums.append([sum(c * psi[i] for c, psi in zip(weights, encoded, strict=True)) for i in range(width)])
        gated.append(
            [sum(a * c * psi[i] for a, c, psi in zip(alphas, weights, encoded, strict=True)) for i in range(width)]
        )
    return sums, gated


@settings(deadline=None, max_examples=100)
@given(
    kind=st.sampled_from(KINDS),
    receivers=st.integers(0, 4),
    senders=st.integers(0, 4),
    edges=st.integers(0, 8),
    bands=st.integers(0, 4),
    rank=st.integers(0, 3),
    seed=st.integers(0, 1000),
    activation=st.sampled_from(ACTIVATIONS),
)
def test_sums_equal_pythons_arithmetic(
    kind: str, receivers: int, senders: int, edges: int, bands: int, rank: int, seed: int, activation: GateActivation
) -> None:
    inputs = drawn(kind, receivers, senders, edges, bands, rank, seed)._replace(gate_activation=activation)
    total, gated = aggregate(inputs)
    assert gated is not None
    shape = (receivers, inputs.out_channels)
    for found, expected in zip((total, gated), by_hand(inputs), strict=True):
        truth = torch.tensor(expected, dtype=torch.float64).reshape(shape)
        torch.testing.assert_close(found, truth, rtol=0, atol=1e-10)
    ungated, none = aggregate(inputs._replace(gate=None))
    assert none is None
    assert ungated.equal(total)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bands", [0, 3])
def test_gradients_once_and_twice(kind: str, activation: GateActivation, bands: int) -> None:
    inputs = drawn(kind, 4, 3, 6, bands)._replace(gate_activation=activation)
    wanted = {name: t for name, t in inputs.tensors().items() if t is not None and t.numel()}

    def run(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        total, gated = aggregate(inputs.with_tensors({**inputs.tensors(), **dict(zip(wanted, tensors, strict=True))}))
        assert gated is not None
        return total, gated

    leaves = [t.clone().requires_grad_() for t in wanted.values()]
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_weights_of_one_are_no_weights(kind: str, activation: GateActivation) -> None:
    inputs = drawn(kind, 4, 3, 8, 3)._replace(gate_activation=activation)
    ones = inputs._replace(edge_weight=torch.ones(8, dtype=torch.float64))
    for found, expected in zip(aggregate(ones), aggregate(inputs._replace(edge_weight=None)), strict=True):
        assert found is not None
        assert expected is not None
        assert torch.equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_edges_in_the_order_given_have_the_same_sums(kind: str) -> None:
    inputs = drawn(kind, 4, 3, 8, 3)
    shuffle = torch.randperm(8)
    assert inputs.edge_phase is not None
    assert inputs.edge_weight is not None
    plain = EdgeList(inputs.graph.sender[shuffle], inputs.graph.receiver[shuffle], shuffle, 4)
    listed = inputs._replace(
        graph=plain, edge_phase=inputs.edge_phase[shuffle], edge_weight=inputs.edge_weight[shuffle]
    )
    torch.testing.assert_close(edge_phases(listed), edge_phases(inputs)[shuffle])
    for found, expected in zip(aggregate(listed), aggregate(inputs), strict=True):
        torch.testing.assert_close(found, expected)


class Factors(NamedTuple):
    """The parameters from which both kinds of phases can be made: ``W_f = sum_r B_r A_r^T`` per projection."""

    x_receiver: Tensor  # [N, d_r]
    x_sender: Tensor  # [S, d_s]
    A: Tensor  # [F, R, d_r]
    B: Tensor  # [F, R, d_s]
    bias: Tensor  # [F, d_s]
    phase: Tensor  # [N, F]

    def generated(self) -> Generated:
        weight = torch.einsum("fri,frj->fij", self.B, self.A).flatten(0, 1)
        return Generated(self.x_receiver, self.x_sender, weight, self.bias.flatten(), self.phase)

    def factored(self) -> Factored:
        of_receivers = torch.einsum("frj,vj->vrf", self.A, self.x_receiver)
        of_senders = torch.einsum("fri,ui->urf", self.B, self.x_sender)
        receiver = torch.cat([self.phase.unsqueeze(1), of_receivers], 1)
        sender = torch.cat([(self.x_sender @ self.bias.t()).unsqueeze(1), of_senders], 1)
        return Factored(receiver.flatten(1), sender.flatten(1), self.phase.size(1))

    def one_table(self) -> Factored:
        receiver, sender, projections = self.factored()
        assert sender is not None
        return Factored(torch.cat([receiver, sender], 1), None, projections)


def drawn_factors(rank: int, projections: int = 3, receiver_width: int = 4, sender_width: int = 5) -> Factors:
    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    return Factors(
        draw(9, receiver_width),
        draw(9, sender_width),
        draw(projections, rank, receiver_width),
        draw(projections, rank, sender_width),
        draw(projections, sender_width),
        draw(9, projections),
    )


@pytest.mark.parametrize("rank", [0, 1, 2, 5])
@pytest.mark.parametrize("projections", [1, 3, 7])
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_the_factored_phase_is_the_full_generator_of_its_factors(
    rank: int, projections: int, activation: GateActivation | None
) -> None:
    factors = drawn_factors(rank, projections)
    graph = receiver_csr(torch.randint(9, (2, 40)), 9, 9)
    beside = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2,), (40, projections), (40,))]
    gate = torch.randn(4 * projections, dtype=torch.float64, requires_grad=True) if activation else None
    frequencies, edge_phase, edge_weight = beside
    leaves = [*factors, *beside, *([gate] if gate is not None else [])]
    arriving = torch.randn(2, 9, 4 * projections, dtype=torch.float64)
    results = []
    for phases in (factors.generated(), factors.factored(), factors.one_table()):
        outputs = aggregate(Inputs(phases, graph, frequencies, edge_phase, edge_weight, gate, activation or "sigmoid"))
        given_outputs = [t for t in outputs if t is not None]
        gradients = torch.autograd.grad(
            given_outputs, leaves, list(arriving[: len(given_outputs)]), materialize_grads=True
        )
        results.append([*given_outputs, *gradients])
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_full_rank_reproduces_any_generator() -> None:
    drawn_full = drawn("generated", 6, 5, 30, 3)
    full = drawn_full.phases
    assert isinstance(full, Generated)
    assert full.phase is not None
    # B is the identity: component r of the sender is multiplied by row r of the receiver's projection
    identity = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
    factors = Factors(
        full.x_receiver, full.x_sender, full.weight.view(2, 2, 3), identity, full.bias.view(2, 2), full.phase
    )
    for found, expected in zip(
        aggregate(drawn_full._replace(phases=factors.factored())), aggregate(drawn_full), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_encoding_in_bands() -> None:
    phase = torch.tensor([[0.0, math.pi / 2]], dtype=torch.float64)
    encoded = harmonic_encoding(phase, torch.tensor([1.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(encoded, torch.tensor([[0, 1, 1, 0, 0, 0, 1, -1]], dtype=torch.float64))


def test_softmax_gates_sum_to_one_even_for_large_logits() -> None:
    csr = receiver_csr(torch.tensor([[0, 1, 2, 0], [0, 0, 0, 2]]), 3, 3)
    alpha = gate_values(torch.tensor([1000.0, 999.0, -1000.0, -5000.0]), csr, "softmax")
    torch.testing.assert_close(alpha, torch.tensor([0.7311, 0.2689, 0.0, 1.0]), rtol=0, atol=1e-4)
