"""The Triton backend: the factored sum on GPUs, forward and a backward pass that computes phases again.

One program per receiver walks its edges; sender gradients come from a second pass over the edges by sender. No atomics,
so the same call gives the same bits. ``TRITON_INTERPRET=1`` in the environment runs the kernels on the CPU, slowly,
for tests.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Set
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from mshgnn.ops.backends import reference
from mshgnn.ops.eager import gradients_with_graph, is_eager
from mshgnn.ops.graph import ReceiverCSR, check_csr
from mshgnn.ops.inputs import Factored, Inputs
from mshgnn.seen import Seen

NAME = "triton"

TILE = 2048
"""Numbers of one array of a program, edges times bands (or ranks) times projections, where the edges allow."""
MOST_PROJECTIONS = 64
"""Projections of one program; more are shared out."""
PER_WARP = 256
"""Numbers of a tile that one warp takes: eight per thread."""
MOST_WARPS = 8


@cache
def is_installed() -> bool:
    """Whether there is a ``triton`` to import; the import itself waits for the first sum."""
    return find_spec("triton") is not None


def obstacle(inputs: Inputs) -> str | None:
    """Why the kernels do not apply, or ``None`` where they do."""
    example = inputs.example
    if not is_installed():
        return "triton is not installed"
    if not isinstance(inputs.phases, Factored):
        return "it has no kernels for the full generator"
    if inputs.gate is not None:
        return "it has no kernels for gates"
    if example.device.type != "cuda" and not (example.device.type == "cpu" and _is_interpreted()):
        return f"the tensors are on {example.device.type}, not on cuda"
    if example.dtype != torch.float32:
        return f"the tensors are {example.dtype}, not torch.float32"
    if inputs.frequencies.numel() == 0:
        return "there are no frequencies"
    if not isinstance(inputs.graph, ReceiverCSR) or not is_eager(example):
        return "a compiler, a trace or a transform of torch is at work"
    return None


def _is_interpreted() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def aggregate(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """The kernels; see :func:`mshgnn.ops.harmonic_aggregate`."""
    return _Recomputed.apply(inputs, *inputs.tensors().values()), None  # type: ignore[no-untyped-call]


class _Recomputed(torch.autograd.Function):
    """Keeps the tables alone for the backward pass."""

    @staticmethod
    def forward(ctx: Any, inputs: Inputs, *tensors: Tensor | None) -> Tensor:
        ctx.save_for_backward(*tensors)
        ctx.plan = plan_for(inputs)
        # the graph and the choices alone; the graph as it is now, whatever becomes of the tensors given
        ctx.inputs = inputs.with_tensors(dict.fromkeys(inputs.tensors()))._replace(graph=ctx.plan.graph)
        return _forward(inputs, ctx.plan)

    @staticmethod
    def backward(ctx: Any, grad_S: Tensor) -> tuple[Tensor | None, ...]:
        names, needs = list(ctx.inputs.tensors()), ctx.needs_input_grad[1:]

        def with_values(values: tuple[Tensor | None, ...]) -> Inputs:
            return ctx.inputs.with_tensors(dict(zip(names, values, strict=True)))

        if torch.is_grad_enabled():  # create_graph=True: kernels cannot be differentiated again, plain torch can
            return None, *gradients_with_graph(
                lambda *own: reference.aggregate(with_values(own))[0], ctx.saved_tensors, needs, grad_S
            )
        wanted = {name for name, needed in zip(names, needs, strict=True) if needed}
        found = _backward(with_values(ctx.saved_tensors), ctx.plan, grad_S.contiguous(), wanted)
        return None, *(found.get(name) for name in names)


class Edges(NamedTuple):
    """The edges by node of one side: ``rowptr``, the node at the other end, and the place in receiver order."""

    rowptr: Tensor
    other: Tensor
    place: Tensor | None  # None: receiver order it is


class Plan:
    """The checked edges of a graph by receiver and, once a backward pass asks, by sender."""

    def __init__(self, graph: ReceiverCSR, num_senders: int) -> None:
        # Copies are checked: no kernel reads an index that someone else can still write. 64 bits: places are products.
        rowptr = graph.rowptr.to(torch.int64, copy=True).contiguous()
        self.by_receiver = Edges(rowptr, graph.sender.clone(memory_format=torch.contiguous_format), None)
        check_csr(self.by_receiver.rowptr, self.by_receiver.other, num_senders)
        self._num_senders = num_senders

    @property
    def graph(self) -> ReceiverCSR:
        """The copies; the user's order of the edges is not among them."""
        rowptr, sender, _ = self.by_receiver
        return ReceiverCSR(rowptr, sender, sender)

    @cached_property
    def by_sender(self) -> Edges:
        """The transpose."""
        rowptr, sender, _ = self.by_receiver
        in_order, place = torch.sort(sender, stable=True)
        nodes = torch.arange(self._num_senders + 1, dtype=sender.dtype, device=sender.device)
        receiver = ReceiverCSR(rowptr, sender, place).receiver
        return Edges(torch.searchsorted(in_order, nodes), receiver[place], place)


class _Known(NamedTuple):
    rowptr: Tensor
    num_senders: int
    seen: Seen
    plan: Plan


_plans: MutableMapping[Tensor, _Known] = WeakTensorKeyDictionary()
"""Plans by identity of ``graph.sender``; an entry dies with it or a change that torch counts."""


def plan_for(inputs: Inputs) -> Plan:
    """The plan of the graph, made once. Raises ``UserError`` where the tensors do not describe a graph."""
    graph, num_senders = inputs.graph, inputs.phases.num_senders
    assert isinstance(graph, ReceiverCSR)
    rowptr, sender, _ = graph
    if rowptr.is_inference() or sender.is_inference():  # those have no version to tell a change by
        return Plan(graph, num_senders)
    known = _plans.get(sender)
    same = known is not None and known.rowptr is rowptr and known.num_senders == num_senders
    if known is not None and same and known.seen.fits(rowptr, sender):
        return known.plan
    plan = Plan(graph, num_senders)
    _plans[sender] = _Known(rowptr, num_senders, Seen(rowptr, sender), plan)
    return plan


class _Pass:
    """What the kernels are given in both passes: per edge, per layer, and the sizes they are compiled for."""

    def __init__(self, inputs: Inputs) -> None:
        phases = inputs.phases
        assert isinstance(phases, Factored)
        self.sizes = F, R, K = phases.num_projections, phases.rank, inputs.frequencies.numel()
        per_edge = (inputs.edge_phase, inputs.edge_weight)
        self._shared = *(_contiguous(tensor) for tensor in per_edge), inputs.frequencies.contiguous()
        self._constants = {
            "BLOCKS": _power_of_two(R + 1),
            "BANDS": _power_of_two(K),
            "PROJECTIONS": min(_power_of_two(F), MOST_PROJECTIONS),
        }
        self.num_blocks = -(-F // self._constants["PROJECTIONS"])
        """Blocks of projections."""

    def run(self, kernel: Any, edges: Edges, own: Tensor, other: Tensor, *arguments: Tensor | int | None) -> None:
        """One program per node and block of projections, with as many edges at a time as nodes have on average."""
        num_nodes, num_edges = own.size(0), edges.other.numel()
        if num_nodes == 0:
            return
        constants = self._constants
        per_edge = max(constants["BLOCKS"], constants["BANDS"]) * constants["PROJECTIONS"]
        together = min(_power_of_two(-(-num_edges // num_nodes)), max(1, TILE // per_edge))
        num_warps = min(max(1, together * per_edge // PER_WARP), MOST_WARPS)
        with torch.cuda.device_of(own):  # type: ignore[no-untyped-call]
            kernel[num_nodes, self.num_blocks](
                own, own.stride(0), other, other.stride(0), edges.rowptr, edges.other, *self._shared, *arguments,
                *self.sizes, EDGES=together, **constants, num_warps=num_warps,
            )  # fmt: skip


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()


def _sides(receiver: Tensor, sender: Tensor | None) -> tuple[Tensor, Tensor]:
    """The receivers' and the senders' table, which may be the halves of one."""
    if sender is not None:
        return receiver, sender
    of_receivers, of_senders = receiver.chunk(2, dim=1)
    return of_receivers, of_senders


def _with_stride(rows: Tensor | None) -> tuple[Tensor | None, int]:
    return rows, 0 if rows is None else rows.stride(0)


def _forward(inputs: Inputs, plan: Plan) -> Tensor:
    from mshgnn.ops.backends import triton_kernels

    phases = inputs.phases
    assert isinstance(phases, Factored)
    receiver, sender = _sides(phases.receiver.contiguous(), _contiguous(phases.sender))
    S = receiver.new_empty(phases.num_receivers, inputs.out_channels)
    _Pass(inputs).run(triton_kernels.forward, plan.by_receiver, receiver, sender, S)
    return S


def _backward(inputs: Inputs, plan: Plan, grad_S: Tensor, wanted: Set[str]) -> dict[str, Tensor]:
    """The gradients by the names of ``inputs.tensors()``."""
    from mshgnn.ops.backends import triton_kernels

    phases = inputs.phases
    assert isinstance(phases, Factored)
    receiver, sender = _sides(phases.receiver.contiguous(), _contiguous(phases.sender))
    edges, num_edges = plan.by_receiver, plan.by_receiver.other.numel()
    own = _Pass(inputs)
    F, _, K = own.sizes
    shapes = {
        "receiver": phases.receiver.shape,
        "sender": sender.shape,
        "edge_phase": (num_edges, F),
        "edge_weight": (own.num_blocks, num_edges),
        "frequencies": (phases.num_receivers, own.num_blocks, K),
    }
    found = {name: receiver.new_empty(shape) for name, shape in shapes.items() if name in wanted}
    grad_receiver, grad_sender = found.get("receiver"), found.get("sender")
    if grad_receiver is not None and phases.sender is None:
        grad_receiver, grad_sender = grad_receiver.chunk(2, dim=1)
    if wanted - {"sender"}:
        own.run(
            triton_kernels.backward, edges, receiver, sender, None, grad_S, *_with_stride(grad_receiver),
            found.get("edge_phase"), found.get("edge_weight"), found.get("frequencies"), num_edges,
        )  # fmt: skip
    if grad_sender is not None:
        edges = plan.by_sender
        own.run(
            triton_kernels.backward, edges, sender, receiver, edges.place, grad_S, *_with_stride(grad_sender),
            None, None, None, num_edges,
        )  # fmt: skip
    if "edge_weight" in found:
        found["edge_weight"] = found["edge_weight"].sum(0)
    if "frequencies" in found:  # many receivers: their parts are added in double precision and rounded once
        found["frequencies"] = found["frequencies"].sum((0, 1), dtype=torch.float64).float()
    return found
