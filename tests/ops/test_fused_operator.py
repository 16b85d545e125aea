"""The fused backend as a torch operator: opcheck, compile, export, double backward, bad indices."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mshgnn.ops import ReceiverCSR, cpu, harmonic_aggregate, last_backend, receiver_csr, set_backend

NUM_NODES, WIDTH, PROJECTIONS = 12, 6, 3


def inputs(num_edges: int = 30, seed: int = 0) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    return {
        "x": torch.randn(NUM_NODES, WIDTH),
        "weight": torch.randn(PROJECTIONS * WIDTH, WIDTH) * 0.2,
        "bias": torch.randn(PROJECTIONS * WIDTH) * 0.4,
        "phase": torch.randn(NUM_NODES, PROJECTIONS),
        "frequencies": torch.tensor([1.0, 2.0]),
        "gate": torch.randn(4 * PROJECTIONS),
        "edge_phase": torch.randn(num_edges, PROJECTIONS),
        "edge_index": torch.randint(NUM_NODES, (2, num_edges)),
    }


@pytest.mark.parametrize("training", [True, False])
def test_inference_keeps_nothing_for_a_backward_pass(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    forward = cpu.forward

    def watched(*arguments: Any) -> Any:
        result = forward(*arguments)
        kept.append(result[2] is not None)
        return result

    monkeypatch.setattr(cpu, "forward", watched)
    values = inputs()
    set_backend("fused")
    with torch.set_grad_enabled(training):
        Layer(values)(values["x"], values["phase"], values["edge_index"])
    assert kept == [training]


class Layer(nn.Module):
    def __init__(self, values: dict[str, Tensor]) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(values["weight"]), nn.Parameter(values["bias"])
        self.gate = nn.Parameter(values["gate"])
        self.register_buffer("frequencies", values["frequencies"])

    def forward(self, x: Tensor, phase: Tensor, edge_index: Tensor) -> Tensor:
        csr = receiver_csr(edge_index, x.size(0), x.size(0))
        frequencies = self.get_buffer("frequencies")
        total, gated = harmonic_aggregate(x, x, self.weight, self.bias, phase, csr, frequencies, gate=self.gate)
        assert gated is not None
        return total + gated


@pytest.mark.parametrize("gating", [0, 1, 2])
@pytest.mark.parametrize("optional", [False, True])
def test_opcheck(gating: int, optional: bool) -> None:
    values = inputs()
    csr = receiver_csr(values["edge_index"], NUM_NODES, NUM_NODES)

    def leaf(name: str) -> Tensor:
        return values[name].clone().requires_grad_()

    arguments = (
        leaf("x"), leaf("x"), leaf("weight"), leaf("bias"), leaf("phase") if optional else None, csr.rowptr, csr.sender,
        leaf("frequencies"), leaf("edge_phase") if optional else None, leaf("gate") if gating else None, gating,
    )  # fmt: skip
    torch.library.opcheck(torch.ops.mshgnn.harmonic_aggregate.default, arguments)


def test_compile_whole_and_dynamic() -> None:
    layer = Layer(inputs())
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for num_edges in (30, 45, 7):
        values = inputs(num_edges, seed=num_edges)
        x = values["x"].requires_grad_()
        expected, found = (
            layer(x, values["phase"], values["edge_index"]),
            compiled(x, values["phase"], values["edge_index"]),
        )
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        parameters = [x, *layer.parameters()]
        for a, b in zip(
            torch.autograd.grad(found.sum(), parameters), torch.autograd.grad(expected.sum(), parameters), strict=True
        ):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_export() -> None:
    values = inputs()
    layer = Layer(values)
    arguments = (values["x"], values["phase"], values["edge_index"])
    exported = torch.export.export(layer, arguments)
    assert any("harmonic_aggregate" in str(node.target) for node in exported.graph.nodes)
    torch.testing.assert_close(exported.module()(*arguments), layer(*arguments), rtol=0, atol=0)


@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
def test_double_backward_is_the_reference(activation: str) -> None:
    def second_derivatives(backend: str) -> list[Tensor]:
        values = {name: t if t.dtype == torch.long else t.requires_grad_() for name, t in inputs().items()}
        csr = receiver_csr(values["edge_index"], NUM_NODES, NUM_NODES)
        set_backend(backend)
        total, gated = harmonic_aggregate(
            values["x"], values["x"], values["weight"], values["bias"], values["phase"], csr, values["frequencies"],
            edge_phase=values["edge_phase"], gate=values["gate"], gate_activation=activation,
        )  # fmt: skip
        assert last_backend() == backend
        assert gated is not None
        leaves = [t for t in values.values() if t.requires_grad]
        first = torch.autograd.grad(total.sin().sum() + gated.square().sum(), leaves, create_graph=True)
        second = torch.autograd.grad(sum((g.square().sum() for g in first), torch.zeros(())), leaves)
        return [*first, *second]

    try:
        fused, reference = second_derivatives("fused"), second_derivatives("reference")
    finally:
        set_backend("auto")
    for found, expected in zip(fused, reference, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * float(expected.detach().abs().max()))


@pytest.mark.parametrize(
    ("rowptr", "sender", "message"),
    [
        ([0, 1, 2], [0, 5], "node index 5"),
        ([0, 1, 2], [0, -1], "negative node index -1"),
        ([0, 2, 1], [0, 1], "rowptr must rise"),
        ([0, 1, 9], [0, 1], "rowptr must rise"),
        ([1, 1, 2], [0, 1], "rowptr must rise"),
    ],
)
def test_bad_indices_never_reach_a_kernel(rowptr: list[int], sender: list[int], message: str) -> None:
    csr = ReceiverCSR(torch.tensor(rowptr), torch.tensor(sender), torch.arange(2))
    x, weight, bias, frequencies = torch.zeros(2, 4), torch.zeros(8, 4), torch.zeros(8), torch.ones(1)
    with pytest.raises(ValueError, match=message):
        harmonic_aggregate(x, x, weight, bias, None, csr, frequencies)
    compiled = torch.compile(harmonic_aggregate, fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match=message):
        compiled(x, x, weight, bias, None, csr, frequencies)


def test_indices_made_bad_after_the_first_call_are_noticed() -> None:
    csr = receiver_csr(torch.tensor([[0, 1], [1, 0]]), 2, 2)
    x, weight, bias, frequencies = torch.zeros(2, 4), torch.zeros(8, 4), torch.zeros(8), torch.ones(1)
    harmonic_aggregate(x, x, weight, bias, None, csr, frequencies)
    csr.sender[0] = 77
    with pytest.raises(ValueError, match="node index 77"):
        harmonic_aggregate(x, x, weight, bias, None, csr, frequencies)


def test_in_place_change_of_the_graph_is_seen() -> None:
    csr = receiver_csr(torch.tensor([[0, 1], [1, 0]]), 2, 2)
    torch.manual_seed(0)
    x, weight, bias, frequencies = torch.randn(2, 4), torch.randn(8, 4), torch.randn(8), torch.ones(1)
    harmonic_aggregate(x, x, weight, bias, None, csr, frequencies)
    csr.sender.copy_(torch.tensor([0, 1]))
    found, _ = harmonic_aggregate(x, x, weight, bias, None, csr, frequencies)
    fresh = ReceiverCSR(csr.rowptr.clone(), csr.sender.clone(), csr.order)
    assert torch.equal(found, harmonic_aggregate(x, x, weight, bias, None, fresh, frequencies)[0])


def test_transforms_of_torch_func_take_the_reference() -> None:
    values = inputs()
    csr = receiver_csr(values["edge_index"], NUM_NODES, NUM_NODES)

    def loss(x: Tensor) -> Tensor:
        total, _ = harmonic_aggregate(
            x, x, values["weight"], values["bias"], values["phase"], csr, values["frequencies"]
        )
        return total.square().sum()

    x = values["x"].requires_grad_()
    (expected,) = torch.autograd.grad(loss(x), x)
    assert last_backend() == "fused"
    for transform in (torch.func.grad, torch.func.jacfwd):
        torch.testing.assert_close(transform(loss)(values["x"].detach()), expected, rtol=1e-4, atol=1e-4)
        assert last_backend() == "reference"


def test_inference_mode() -> None:
    values = inputs()
    layer = Layer(values)
    arguments = (values["x"], values["phase"], values["edge_index"])
    expected = layer(*arguments)
    with torch.inference_mode():
        assert torch.equal(layer(*arguments), expected)
        fresh = values["edge_index"].clone()
        assert torch.equal(layer(values["x"].clone(), values["phase"], fresh), expected)
