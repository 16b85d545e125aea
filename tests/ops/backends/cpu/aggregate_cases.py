"""Calls of the harmonic sum with gradients for its outputs, and the measure by which a backend is held to float64."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.ops import Factored, Generated, Inputs, receiver_csr
from mshgnn.ops.backends import cpu, reference
from mshgnn.ops.inputs import GateActivation

DOUBLING = (1.0, 2.0, 4.0)
GATES: tuple[GateActivation | None, ...] = (None, "sigmoid", "softmax")
EPSILON = torch.finfo(torch.float32).eps

Aggregate = Callable[[Inputs], tuple[Tensor, Tensor | None]]
Phases = Generated | Factored


class Draw:
    """Normal numbers in float64 that are exact in float32, so that all precisions start from the same numbers."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        return (torch.randn(shape, generator=self._generator) * scale).double()


class Case(NamedTuple):
    """One call in float64, with gradients for its outputs."""

    inputs: Inputs
    gradients: list[Tensor]

    def at(self, dtype: torch.dtype) -> Inputs:
        """The inputs in another precision, as leaves."""
        tensors = self.inputs.tensors().items()
        return self.inputs.with_tensors(
            {name: None if t is None else t.to(dtype).clone().requires_grad_() for name, t in tensors}
        )


def random_edges(num_senders: int, num_receivers: int, num_edges: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    senders = torch.randint(num_senders, (num_edges,), generator=generator)
    return torch.stack([senders, torch.randint(num_receivers, (num_edges,), generator=generator)])


def hub_edges(degree: int) -> Tensor:
    """40 nodes: receiver 0 has ``degree`` edges, the last none, the others a few."""
    hub = torch.stack([torch.arange(degree) % 40, torch.zeros(degree, dtype=torch.long)])
    return torch.cat([hub, random_edges(40, 38, 60) + torch.tensor([[0], [1]])], 1)


def nearby_edges(num_nodes: int, num_edges: int, reach: int = 20) -> Tensor:
    """Senders close to their receivers: chunks of receivers then have different ranges of senders."""
    senders, receivers = random_edges(2 * reach + 1, num_nodes, num_edges)
    return torch.stack([(receivers + senders - reach).clamp(0, num_nodes - 1), receivers])


def draw_generated(
    num_senders: int,
    num_receivers: int,
    *,
    width: int = 16,
    projections: int = 8,
    receiver_width: int | None = None,
    phase: bool = True,
    seed: int = 0,
) -> Generated:
    draw = Draw(seed)
    d = receiver_width or width
    return Generated(
        draw(num_receivers, d),
        draw(num_senders, width),
        draw(projections * width, d, scale=0.2 / (d * width) ** 0.5),
        draw(projections * width, scale=1 / width**0.5),
        draw(num_receivers, projections) if phase else None,
    )


def draw_factored(
    num_senders: int,
    num_receivers: int,
    *,
    projections: int = 8,
    rank: int = 2,
    one_table: bool = False,
    seed: int = 0,
) -> Factored:
    draw = Draw(seed)
    columns = (rank + 1) * projections
    if one_table:
        assert num_senders == num_receivers
        return Factored(draw(num_receivers, 2 * columns), None, projections)
    return Factored(draw(num_receivers, columns), draw(num_senders, columns), projections)


KINDS = ("generated", "factored", "one table")


def draw_kind(kind: str, num_nodes: int, projections: int = 7) -> Phases:
    """Phases of one of ``KINDS``, for what holds for all of them."""
    if kind == "generated":
        return draw_generated(num_nodes, num_nodes, projections=projections)
    return draw_factored(num_nodes, num_nodes, projections=projections, one_table=kind == "one table")


def make_case(
    phases: Phases,
    edge_index: Tensor,
    *,
    frequencies: tuple[float, ...] = DOUBLING,
    edge_phase: bool = False,
    edge_weight: bool = False,
    gate: GateActivation | None = None,
    seed: int = 1,
) -> Case:
    draw = Draw(seed)
    num_edges = edge_index.size(1)
    out = 2 * len(frequencies) * phases.num_projections
    inputs = Inputs(
        phases,
        receiver_csr(edge_index, phases.num_senders, phases.num_receivers),
        torch.tensor(frequencies).double(),
        draw(num_edges, phases.num_projections) if edge_phase else None,
        draw(num_edges) if edge_weight else None,
        draw(out, scale=0.3) if gate else None,
        gate or "sigmoid",
    )
    return Case(inputs, [draw(phases.num_receivers, out) for _ in range(2 if gate else 1)])


def everything(phases: Phases, edge_index: Tensor, gate: GateActivation | None = "sigmoid") -> Case:
    """A case with all that may stand at an edge."""
    return make_case(phases, edge_index, edge_phase=True, edge_weight=True, gate=gate)


def run(
    case: Case,
    aggregate: Aggregate = cpu.aggregate,
    dtype: torch.dtype = torch.float32,
    without: Collection[str] = (),
) -> dict[str, Tensor]:
    """Both outputs and every gradient but those named in ``without``, by name."""
    inputs = case.at(dtype)
    wanted = {name: t for name, t in inputs.tensors().items() if t is not None and name not in without}
    for name, tensor in inputs.tensors().items():
        if tensor is not None:
            tensor.requires_grad_(name in wanted)
    outputs = [t for t in aggregate(inputs) if t is not None]
    gradients = torch.autograd.grad(outputs, list(wanted.values()), [g.to(dtype) for g in case.gradients])
    return {
        **{f"output {i}": t.detach() for i, t in enumerate(outputs)},
        **dict(zip(wanted, gradients, strict=True)),
    }


def assert_as_good_as_plain_float32(
    case: Case, factor: float = 3.0, *, aggregate: Aggregate = cpu.aggregate, without: Collection[str] = ()
) -> None:
    """A backend's error against float64 is at most ``factor`` times that of plain torch in float32."""
    truth = run(case, reference.aggregate, torch.float64, without)
    plain = run(case, reference.aggregate, without=without)
    found = run(case, aggregate, without=without)
    assert found.keys() == truth.keys()
    for name, expected in truth.items():
        assert found[name].shape == expected.shape, name
        assert torch.isfinite(found[name]).all(), name
        if expected.numel() == 0:
            continue
        error = (found[name].double() - expected).abs().max().item()
        # A single number may come out exact by luck: a few roundings of its size are always allowed.
        allowed = factor * (plain[name].double() - expected).abs().max().item()
        luck = 8 * EPSILON * expected.abs().max().item()
        if expected.numel() < 50:  # few numbers, much luck: sums over all edges
            luck *= 1 + case.inputs.graph.sender.numel() ** 0.5 / 4
        assert error <= allowed + luck, f"{name}: error {error:.2e}, plain float32 makes {allowed / factor:.2e}"


def assert_same_bits(first: dict[str, Tensor], *others: dict[str, Tensor]) -> None:
    for other in others:
        assert other.keys() == first.keys()
        for name, expected in first.items():
            assert torch.equal(expected, other[name]), name


def assert_close_to_plain_float32(case: Case) -> None:
    """For drawn graphs, where a few numbers may cancel: within a fixed tolerance of plain torch in float32."""
    plain, fused = run(case, reference.aggregate), run(case)
    assert fused.keys() == plain.keys()
    for name, expected in plain.items():
        size = expected.abs().max().item() if expected.numel() else 0.0
        torch.testing.assert_close(fused[name], expected, rtol=1e-4, atol=2e-5 * max(size, 1.0), msg=name)
