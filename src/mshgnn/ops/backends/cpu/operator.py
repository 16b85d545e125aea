"""The CPU kernels as torch operators: shapes for tracing, gradients, and where they apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops.backends import reference
from mshgnn.ops.backends.cpu.arrays import GATINGS, gating_of, graph_of
from mshgnn.ops.backends.cpu.threads import safe_after_fork
from mshgnn.ops.graph import ReceiverCSR, is_traced
from mshgnn.ops.inputs import BESIDE_PHASES, Factored, Generated, Inputs, Phases
from mshgnn.seen import Seen

NAME = "fused"


def obstacle(inputs: Inputs) -> str | None:
    """Why the kernels do not apply, or ``None`` where they do."""
    example = inputs.example
    if example.device.type != "cpu":
        return f"the tensors are on {example.device.type}, not on cpu"
    if example.dtype != torch.float32:
        return f"the tensors are {example.dtype}, not torch.float32"
    if inputs.frequencies.numel() == 0:
        return "there are no frequencies"
    if not isinstance(inputs.graph, ReceiverCSR) or is_traced():
        return "a trace is being recorded"
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        return "a transform of torch.func is active"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode differentiation is active"
    return None


def aggregate(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """The kernels; see :func:`mshgnn.ops.harmonic_aggregate`."""
    if torch.compiler.is_compiling() or type(inputs.example) not in (Tensor, torch.nn.Parameter):
        S, G = _OPERATORS[type(inputs.phases)](*_flatten(inputs))
        return S, G if inputs.gate is not None else None
    if torch.is_grad_enabled():
        return _Eager.apply(inputs, *inputs.tensors().values())  # type: ignore[no-untyped-call]
    S, G, _ = _forward(inputs, False)
    return S, G


@cache
def _runner(full: bool) -> Any:
    """The module that runs the full generator or the factored one; imported late, for numba takes a second."""
    from mshgnn.ops.backends.cpu import factored, generated

    return generated if full else factored


def _forward(inputs: Inputs, keep: bool) -> Any:
    with safe_after_fork():
        return _runner(isinstance(inputs.phases, Generated)).forward(inputs, keep)


def _backward(inputs: Inputs, grad_S: Tensor, grad_G: Tensor | None, needs: Mapping[str, bool], kept: Any) -> Any:
    with safe_after_fork():
        return _runner(isinstance(inputs.phases, Generated)).backward(inputs, grad_S, grad_G, needs, kept)


class _Eager(torch.autograd.Function):
    """The operator without the dispatcher: a third of a millisecond less per step, a lot on small graphs."""

    @staticmethod
    def forward(ctx: Any, inputs: Inputs, *tensors: Tensor | None) -> tuple[Tensor, Tensor | None]:
        S, G, ctx.kept = _forward(inputs, any(ctx.needs_input_grad))
        ctx.save_for_backward(*tensors)
        ctx.signature, ctx.rest = _SIGNATURES[type(inputs.phases)], _without_gradient(inputs)
        ctx.graph = _graph_as_it_is(ctx.rest[0], ctx.rest[1])
        return S, G

    @staticmethod
    def backward(ctx: Any, grad_S: Tensor, grad_G: Tensor | None) -> tuple[Tensor | None, ...]:
        names, inputs = ctx.signature.names, ctx.signature.inputs((*ctx.saved_tensors, *ctx.rest))
        needs = dict(zip(names, ctx.needs_input_grad[1:], strict=True))
        kept, ctx.kept = ctx.kept, None  # used up: a second pass over a retained graph computes it again
        if kept is None or torch.is_grad_enabled():  # the graph is read again
            rowptr, sender, *_ = ctx.rest
            if ctx.graph is not None and not ctx.graph.fits(rowptr, sender):
                raise UserError("the edges were changed in place between the forward and the backward pass")
        if torch.is_grad_enabled():
            found = _differentiable_gradients(inputs, grad_S, grad_G, needs)
        else:
            found = _backward(inputs, grad_S, grad_G, needs, kept)
        return (None, *(found.get(name) if needs[name] else None for name in names))


def _graph_as_it_is(rowptr: Tensor, sender: Tensor) -> Seen | None:
    """To see whether a graph is still the one of the forward pass; what is made in inference mode counts no changes."""
    return None if rowptr.is_inference() or sender.is_inference() else Seen(rowptr, sender)


def _differentiable_gradients(
    inputs: Inputs, grad_S: Tensor, grad_G: Tensor | None, needs: Mapping[str, bool]
) -> dict[str, Tensor | None]:
    """The gradients through the reference, for ``create_graph=True``: they can be differentiated again."""
    # A view of each input: the same tensor may stand in two places, and each has its own gradient.
    own = {name: None if tensor is None else tensor.view_as(tensor) for name, tensor in inputs.tensors().items()}
    outputs = reference.aggregate(inputs.with_tensors(own))
    pairs = [(o, g) for o, g in zip(outputs, (grad_S, grad_G), strict=True) if o is not None]
    wanted = [name for name, needed in needs.items() if needed]
    found = torch.autograd.grad(
        [o for o, _ in pairs],
        [tensor for name in wanted if (tensor := own[name]) is not None],
        [g for _, g in pairs],
        create_graph=True,
        materialize_grads=True,
    )
    return dict(zip(wanted, found, strict=True))


class _Signature(NamedTuple):
    """The flat arguments of an operator: differentiable tensors, the graph's two, two numbers."""

    kind: type[Phases]
    names: Sequence[str]
    optional: frozenset[str]

    def schema(self, before: str = "", after: str = "", result: str = "(Tensor, Tensor)") -> str:
        tensors = [f"Tensor{'?' if name in self.optional else ''} {name}" for name in self.names]
        return (
            f"({before}{', '.join(tensors)}, Tensor rowptr, Tensor edge_sender, int gating, int F{after}) -> {result}"
        )

    def inputs(self, arguments: Sequence[Any]) -> Inputs:
        """The object again, out of the flat arguments."""
        *tensors, rowptr, edge_sender, gating, num_projections = arguments
        by_name = dict(zip(self.names, tensors, strict=True))
        own = {name: by_name.pop(name) for name in self.kind._fields if name in by_name}
        phases = Generated(**own) if self.kind is Generated else Factored(**own, num_projections=num_projections)
        activation = GATINGS[gating] if gating else "sigmoid"
        graph = ReceiverCSR(rowptr, edge_sender, edge_sender)
        return Inputs(phases, graph, **by_name, gate_activation=activation)  # type: ignore[arg-type]


_PER_EDGE = frozenset({"edge_phase", "edge_weight", "gate"})
_SIGNATURES: dict[type[Phases], _Signature] = {
    Generated: _Signature(
        Generated,
        ("x_receiver", "x_sender", "weight", "bias", "phase", *BESIDE_PHASES),
        _PER_EDGE | {"phase"},
    ),
    Factored: _Signature(Factored, ("receiver", "sender", *BESIDE_PHASES), _PER_EDGE | {"sender"}),
}


def _without_gradient(inputs: Inputs) -> tuple[Tensor, Tensor, int, int]:
    """The arguments of an operator that follow its differentiable tensors."""
    graph = graph_of(inputs)
    return graph.rowptr, graph.sender, gating_of(inputs), inputs.phases.num_projections


def _flatten(inputs: Inputs) -> tuple[Any, ...]:
    return *inputs.tensors().values(), *_without_gradient(inputs)


def _register(name: str, signature: _Signature) -> Any:
    """The operator ``mshgnn::name`` and its backward operator, both with shapes for tracing."""
    count = len(signature.names)

    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        inputs = signature.inputs(arguments)
        S, G, _ = _forward(inputs, False)
        return S, S.new_empty(0, S.size(1)) if G is None else G

    def forward_shapes(*arguments: Any) -> tuple[Tensor, Tensor]:
        inputs = signature.inputs(arguments)
        rows, like = inputs.phases.num_receivers, inputs.example
        gated = rows if inputs.gate is not None else 0
        return like.new_empty(rows, inputs.out_channels), like.new_empty(gated, inputs.out_channels)

    def backward(grad_S: Tensor, grad_G: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
        *flat, needs = arguments
        inputs = signature.inputs(flat)
        found = _backward(inputs, grad_S, grad_G, dict(zip(signature.names, needs, strict=True)), None)
        results = [found.get(name) if needed else None for name, needed in zip(signature.names, needs, strict=True)]
        # an operator returns tensors, none twice
        return tuple(inputs.example.new_empty(0) if result is None else result for result in results)

    def backward_shapes(grad_S: Tensor, grad_G: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
        needs = arguments[-1]
        return tuple(
            grad_S.new_empty(tensor.shape) if needed and tensor is not None else grad_S.new_empty(0)
            for tensor, needed in zip(arguments[:count], needs, strict=True)
        )

    before, after = "Tensor grad_S, Tensor grad_G, ", ", bool[] needs"
    results = f"({', '.join(['Tensor'] * count)})"
    operator = torch.library.custom_op(
        f"mshgnn::{name}", forward, mutates_args=(), device_types="cpu", schema=signature.schema()
    )
    gradient = torch.library.custom_op(
        f"mshgnn::{name}_backward",
        backward,
        mutates_args=(),
        device_types="cpu",
        schema=signature.schema(before, after, results),
    )
    operator.register_fake(forward_shapes)
    gradient.register_fake(backward_shapes)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs[:-2])
        ctx.numbers = inputs[-2:]

    def differentiate(ctx: Any, grad_S: Tensor, grad_G: Tensor) -> tuple[Tensor | None, ...]:
        needs = list(ctx.needs_input_grad[:count])
        arguments = (*ctx.saved_tensors, *ctx.numbers)
        found: Sequence[Tensor | None]
        if torch.is_grad_enabled():
            named = dict(zip(signature.names, needs, strict=True))
            gradients = _differentiable_gradients(signature.inputs(arguments), grad_S, grad_G, named)
            found = [gradients.get(name) for name in signature.names]
        else:
            found = gradient(grad_S, grad_G, *arguments, needs)
        kept = [value if needed else None for value, needed in zip(found, needs, strict=True)]
        return (*kept, None, None, None, None)

    operator.register_autograd(differentiate, setup_context=setup)
    return operator


_OPERATORS = {
    Generated: _register("harmonic_aggregate", _SIGNATURES[Generated]),
    Factored: _register("harmonic_aggregate_factored", _SIGNATURES[Factored]),
}
