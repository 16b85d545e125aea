from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.ops import ReceiverCSR, gate_values, harmonic_aggregate, harmonic_encoding, receiver_csr

pytestmark = pytest.mark.usefixtures("reference_backend")


def arguments(
    receivers: int, senders: int, edges: int, bands: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> dict[str, Any]:
    """A random call: receivers of width 3, senders of width 2, two projections."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    sender = torch.randint(0, max(senders, 1), (edges,), generator=generator)
    receiver = torch.randint(0, max(receivers, 1), (edges,), generator=generator)
    return {
        "x_receiver": draw(receivers, 3),
        "x_sender": draw(senders, 2),
        "weight": draw(4, 3),
        "bias": draw(4),
        "phase": draw(receivers, 2),
        "csr": receiver_csr(torch.stack([sender, receiver]), senders, receivers),
        "frequencies": torch.tensor([1.0, 2.0, 4.0, 0.3], dtype=dtype)[:bands],
        "edge_phase": draw(edges, 2),
        "gate": draw(4 * bands or 2),
    }


def by_hand(call: dict[str, Any], activation: str) -> tuple[list[list[float]], list[list[float]]]:
    """The same sums with Python's floats and ``math``."""
    weight, bias = call["weight"].tolist(), call["bias"].tolist()
    csr: ReceiverCSR = call["csr"]
    sums, gated = [], []
    for v, h_v in enumerate(call["x_receiver"].tolist()):
        encoded = []
        for e in range(int(csr.rowptr[v]), int(csr.rowptr[v + 1])):
            h_u = call["x_sender"][csr.sender[e]].tolist()
            p = []
            for f in range(2):
                row = [
                    sum(w * h for w, h in zip(weight[2 * f + i], h_v, strict=True)) + bias[2 * f + i] for i in (0, 1)
                ]
                shift = float(call["phase"][v, f]) + float(call["edge_phase"][e, f])
                p.append(row[0] * h_u[0] + row[1] * h_u[1] + shift)
            frequencies = call["frequencies"].tolist()
            encoded.append([g(w * q) for w in frequencies for g in (math.sin, math.cos) for q in p] or p)
        logits = [sum(a * q for a, q in zip(call["gate"].tolist(), psi, strict=True)) for psi in encoded]
        if activation == "sigmoid":
            alphas = [1 / (1 + math.exp(-logit)) for logit in logits]
        else:
            alphas = [math.exp(logit) / sum(map(math.exp, logits)) for logit in logits]
        width = call["gate"].numel()
        sums.append([sum(psi[i] for psi in encoded) for i in range(width)])
        gated.append([sum(a * psi[i] for a, psi in zip(alphas, encoded, strict=True)) for i in range(width)])
    return sums, gated


@settings(deadline=None, max_examples=60)
@given(
    receivers=st.integers(0, 4),
    senders=st.integers(0, 4),
    edges=st.integers(0, 8),
    bands=st.integers(0, 4),
    seed=st.integers(0, 1000),
    activation=st.sampled_from(["sigmoid", "softmax"]),
)
def test_sums_equal_pythons_arithmetic(
    receivers: int, senders: int, edges: int, bands: int, seed: int, activation: str
) -> None:
    if not receivers or not senders:
        edges = 0
    call = arguments(receivers, senders, edges, bands, seed)
    total, gated = harmonic_aggregate(**call, gate_activation=activation)
    sums, expected_gated = by_hand(call, activation)
    shape = (receivers, call["gate"].numel())
    assert gated is not None
    torch.testing.assert_close(total, torch.tensor(sums, dtype=torch.float64).reshape(shape), rtol=0, atol=1e-10)
    torch.testing.assert_close(
        gated, torch.tensor(expected_gated, dtype=torch.float64).reshape(shape), rtol=0, atol=1e-10
    )
    ungated, none = harmonic_aggregate(**{**call, "gate": None})
    assert none is None
    assert ungated.equal(total)


@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
@pytest.mark.parametrize("bands", [0, 3])
def test_gradients_once_and_twice(activation: str, bands: int) -> None:
    call = arguments(4, 3, 6, bands)
    names = [name for name in call if name not in ("csr",) and call[name].numel()]

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total, gated = harmonic_aggregate(
            **{**call, **dict(zip(names, tensors, strict=True))}, gate_activation=activation
        )
        assert gated is not None
        return total, gated

    inputs = [call[name].clone().requires_grad_() for name in names]
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)


def test_encoding_in_bands() -> None:
    phase = torch.tensor([[0.0, math.pi / 2]], dtype=torch.float64)
    encoded = harmonic_encoding(phase, torch.tensor([1.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(encoded, torch.tensor([[0, 1, 1, 0, 0, 0, 1, -1]], dtype=torch.float64))


def test_softmax_gates_sum_to_one_even_for_large_logits() -> None:
    csr = receiver_csr(torch.tensor([[0, 1, 2, 0], [0, 0, 0, 2]]), 3, 3)
    alpha = gate_values(torch.tensor([1000.0, 999.0, -1000.0, -5000.0]), csr, "softmax")
    torch.testing.assert_close(alpha, torch.tensor([0.7311, 0.2689, 0.0, 1.0]), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("x_receiver", torch.ones(4), "x_receiver must have two dimensions, got shape \\[4\\]"),
        ("x_sender", torch.ones(3, 2, dtype=torch.int64), "x_sender must be a floating point tensor, got torch.int64"),
        ("x_sender", torch.ones(3, 2), "x_sender must be torch.float64 like x_receiver, got torch.float32"),
        ("weight", torch.ones(5, 3, dtype=torch.float64), "weight must have num_projections \\* 2 rows"),
        ("weight", torch.ones(4, 2, dtype=torch.float64), "weight must have shape \\[4, 3\\], got \\[4, 2\\]"),
        ("bias", torch.ones(3, dtype=torch.float64), "bias must have shape \\[4\\], got \\[3\\]"),
        ("phase", torch.ones(4, 3, dtype=torch.float64), "phase must have shape \\[4, 2\\], got \\[4, 3\\]"),
        ("frequencies", torch.ones(3), "frequencies must be torch.float64"),
        ("edge_phase", torch.ones(5, 2, dtype=torch.float64), "edge_phase must have shape \\[6, 2\\], got \\[5, 2\\]"),
        ("gate", torch.ones(7, dtype=torch.float64), "gate must have shape \\[12\\], got \\[7\\]"),
        ("gate_activation", "tanh", "gate_activation must be 'sigmoid' or 'softmax', got 'tanh'"),
    ],
)
def test_bad_arguments_are_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        harmonic_aggregate(**{**arguments(4, 3, 6, 3), name: value})


def test_a_broken_csr_never_reaches_the_arithmetic() -> None:
    call = arguments(4, 3, 6, 3)
    csr: ReceiverCSR = call["csr"]
    broken = csr._replace(sender=csr.sender + 7)
    with pytest.raises(ValueError, match="sender holds node index"):
        harmonic_aggregate(**{**call, "csr": broken})
    with pytest.raises(ValueError, match="rowptr must"):
        harmonic_aggregate(**{**call, "csr": csr._replace(rowptr=csr.rowptr.flip(0))})
    with pytest.raises(ValueError, match=r"csr\.rowptr must have shape \[5\], got \[4\]"):
        harmonic_aggregate(**{**call, "csr": csr._replace(rowptr=csr.rowptr[:-1])})
    with pytest.raises(ValueError, match=r"csr\.sender must be int32 or int64, got torch\.float32"):
        harmonic_aggregate(**{**call, "csr": csr._replace(sender=csr.sender.float())})
