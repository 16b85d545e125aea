"""The generator: how a receiver makes its projections, in full or of low rank."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mshgnn.ops import Factored, Generated
from mshgnn.ops.eager import gradients_with_graph, is_eager


class GeneratorOptions(NamedTuple):
    """What both generators are made of.

    ``sender_channels`` and ``receiver_channels`` are the widths of what they are given; see :class:`MSHConv` for the
    rest. ``phase_scale=None`` leaves scales and initialisation as printed.
    """

    sender_channels: int
    receiver_channels: int
    num_projections: int
    phase: bool
    phase_scale: float | None
    relative_phases: bool


class FullGenerator(nn.Module):
    r"""Every entry of the projection is a linear function of the receiver.

    .. math::
        F_v = \mathrm{reshape}(W_f h_v / d + b_f), \qquad \phi_v = W_\phi h_v / d + b_\phi, \qquad
        p_{vu} = s\, F_v h_u / \sqrt{d} + \phi_v
    """

    def __init__(self, options: GeneratorOptions) -> None:
        super().__init__()
        self.made_of = options
        self.projection = nn.Linear(options.receiver_channels, options.num_projections * options.sender_channels)
        self.shift = nn.Linear(options.receiver_channels, options.num_projections) if options.phase else None
        self.scale = None if options.phase_scale is None else nn.Parameter(torch.empty(()))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.projection.reset_parameters()
        if self.shift is not None:
            self.shift.reset_parameters()
        options = self.made_of
        if self.scale is None or options.phase_scale is None:
            return
        with torch.no_grad():
            self.scale.fill_(options.phase_scale)
            # F_v = b_f at first, nearly: a Fourier map that all receivers share and that learns to be conditioned.
            self.projection.weight.normal_(std=0.5)
            self.projection.bias.normal_()
            if self.shift is not None:
                self.shift.weight.normal_(std=0.5)
                shared = self.projection.bias.view(options.num_projections, options.sender_channels)
                start_on_differences(self.shift.weight, shared, options)

    def phases(self, h_sender: Tensor, h_receiver: Tensor) -> Generated:
        """The phases as the sum over edges takes them, scales folded in."""
        dtype = h_receiver.dtype
        weight, bias = self.projection.weight.to(dtype), self.projection.bias.to(dtype)
        # What a receiver says about phases it says as a mean over its features: as a sum, one step of Adam, which moves
        # all weights alike, turns phases by an angle that grows with the width.
        condition = 1.0
        if self.scale is not None:
            condition = 1.0 / self.made_of.receiver_channels
            scale = self.scale.to(dtype) / math.sqrt(self.made_of.sender_channels)
            weight, bias = weight * (scale * condition), bias * scale
        shift = None
        if self.shift is not None:
            shift_weight, shift_bias = self.shift.weight.to(dtype), self.shift.bias.to(dtype)
            shift = nn.functional.linear(h_receiver, shift_weight * condition, shift_bias)
        return Generated(h_receiver, h_sender, weight, bias, shift)

    def sender_rows(self, h_sender: Tensor) -> Tensor:
        """What the phases need of every sender: all of it."""
        return h_sender

    def phases_from(self, rows: Tensor, h_receiver: Tensor) -> Generated:
        """:meth:`phases`, given the :meth:`sender_rows`."""
        return self.phases(rows, h_receiver)


class FactoredGenerator(nn.Module):
    r"""A generator whose weights have rank ``R`` in each projection: products per node, not per edge.

    .. math::
        p_{vu} = \phi_v + \frac{s}{\sqrt{d}} \Big( b\, h_u +
            \sum_{r \le R} \frac{A_r h_v}{\sqrt{d}} \odot B_r h_u \Big), \qquad \phi_v = W_\phi h_v / d + b_\phi

    The same as :class:`FullGenerator` with :math:`W_f / d = \sum_r B_{fr} A_{fr}^\top / \sqrt{d}` and :math:`b_f = b`;
    ``R = 0`` shares the projections among all receivers, ``R = d`` reaches every full generator.
    """

    def __init__(self, options: GeneratorOptions, rank: int) -> None:
        super().__init__()
        self.made_of = options
        self.rank = rank
        F = options.num_projections
        self.receiver = nn.Parameter(torch.empty(rank * F, options.receiver_channels))  # A_1 .. A_R
        self.sender = nn.Parameter(torch.empty((rank + 1) * F, options.sender_channels))  # b, B_1 .. B_R
        self.shift = nn.Linear(options.receiver_channels, F) if options.phase else None
        self.scale = None if options.phase_scale is None else nn.Parameter(torch.empty(()))

    def reset_parameters(self) -> None:
        """Draw all parameters anew: at first, nearly, a Fourier map that all receivers share."""
        options = self.made_of
        if self.shift is not None:
            self.shift.reset_parameters()
        with torch.no_grad():
            if options.phase_scale is None or self.scale is None:
                for weight in (self.receiver, self.sender):
                    bound = 1.0 / math.sqrt(weight.size(1))
                    weight.uniform_(-bound, bound)
                return
            self.scale.fill_(options.phase_scale)
            self.sender.normal_()
            # The sum over r starts as large as W_f h / d with W_f of deviation 0.5, and Adam moves it as fast.
            self.receiver.normal_(std=0.5 / math.sqrt(options.receiver_channels * max(self.rank, 1)))
            if self.shift is not None:
                self.shift.weight.normal_(std=0.5)
                start_on_differences(self.shift.weight, self.sender[: options.num_projections], options)

    def phases(self, h_sender: Tensor, h_receiver: Tensor) -> Factored:
        """One table per side, or one for both where senders are receivers."""
        weights = self._weights(h_receiver.dtype)
        if h_sender is h_receiver and is_eager(h_receiver):
            both = _Tables.apply(h_receiver, *weights)  # type: ignore[no-untyped-call]
            return Factored(both, None, self.made_of.num_projections)
        return Factored(*scaled_tables(h_receiver, h_sender, *weights), self.made_of.num_projections)

    def sender_rows(self, h_sender: Tensor) -> Tensor:
        """What the phases need of every sender: its row of the table ``U [S, (R + 1) F]``."""
        _, sender, _, _, scale = self._weights(h_sender.dtype)
        return sender_table(h_sender, sender, scale)

    def phases_from(self, rows: Tensor, h_receiver: Tensor) -> Factored:
        """:meth:`phases`, given the :meth:`sender_rows`."""
        return Factored(
            receiver_table(h_receiver, *self._weights(h_receiver.dtype)), rows, self.made_of.num_projections
        )

    def _weights(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """What both tables are made with."""
        shift = (None, None) if self.shift is None else (self.shift.weight.to(dtype), self.shift.bias.to(dtype))
        scale = None if self.scale is None else self.scale.to(dtype)
        return self.receiver.to(dtype), self.sender.to(dtype), *shift, scale


def table_factors(width: int, scale: Tensor | None) -> tuple[float, float, float]:
    """What ``W_phi``, ``A`` and the sender's rows are multiplied by, ``s`` apart: nothing where there is no scale."""
    return (1.0, 1.0, 1.0) if scale is None else (1.0 / width, 1.0 / math.sqrt(width), 1.0 / math.sqrt(width))


def receiver_table(
    h_receiver: Tensor,
    receiver: Tensor,
    sender: Tensor,
    shift_weight: Tensor | None,
    shift_bias: Tensor | None,
    scale: Tensor | None,
) -> Tensor:
    """``T [N, (R + 1) F]`` of :class:`FactoredGenerator`."""
    of_shift, of_receiver, _ = table_factors(h_receiver.size(1), scale)
    F = sender.size(0) - receiver.size(0)
    if shift_weight is None:
        shift = h_receiver.new_zeros(h_receiver.size(0), F)
    else:
        shift = nn.functional.linear(h_receiver, shift_weight * of_shift, shift_bias)
    return torch.cat([shift, h_receiver @ (receiver * of_receiver).t()], dim=1)


def sender_table(h_sender: Tensor, sender: Tensor, scale: Tensor | None) -> Tensor:
    """``U [S, (R + 1) F]`` of :class:`FactoredGenerator`."""
    of_sender = table_factors(h_sender.size(1), scale)[2]
    return h_sender @ (sender * (of_sender if scale is None else of_sender * scale)).t()


def scaled_tables(
    h_receiver: Tensor, h_sender: Tensor, receiver: Tensor, sender: Tensor, *rest: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Both tables; ``rest`` is the shift's weight and bias, and the scale."""
    shift_weight, shift_bias, scale = rest
    table = receiver_table(h_receiver, receiver, sender, shift_weight, shift_bias, scale)
    return table, sender_table(h_sender, sender, scale)


def _side_by_side(h: Tensor, *weights: Any) -> Tensor:
    return torch.cat(scaled_tables(h, h, *weights), dim=1)


class _Tables(torch.autograd.Function):
    """:func:`scaled_tables` side by side in one matrix product: on small graphs a dozen small operators cost more."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        receiver: Tensor,
        sender: Tensor,
        shift_weight: Tensor | None,
        shift_bias: Tensor | None,
        scale: Tensor | None,
    ) -> Tensor:
        rows, width = sender.shape
        F = rows - receiver.size(0)
        of_shift, of_receiver, of_sender = table_factors(width, scale)
        ctx.factors = of_shift, of_receiver, of_sender if scale is None else of_sender * float(scale)
        shift = h.new_zeros(F, width) if shift_weight is None else shift_weight * of_shift
        weight = torch.cat([shift, receiver * of_receiver, sender * ctx.factors[2]])
        bias = None if shift_bias is None else torch.cat([shift_bias, h.new_zeros(2 * rows - F)])
        ctx.save_for_backward(h, receiver, sender, shift_weight, shift_bias, scale, weight)
        return nn.functional.linear(h, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, weight = ctx.saved_tensors
        h, receiver, sender, shift_weight, _, scale = inputs
        if torch.is_grad_enabled():
            return tuple(gradients_with_graph(_side_by_side, inputs, ctx.needs_input_grad, gradient))
        rows = sender.size(0)
        F = rows - receiver.size(0)
        of_shift, of_receiver, of_sender = ctx.factors
        d_weight = gradient.t() @ h
        d_sender = d_weight[rows:]
        return (
            gradient @ weight if ctx.needs_input_grad[0] else None,
            d_weight[F:rows] * of_receiver,
            d_sender * of_sender,
            None if shift_weight is None else d_weight[:F] * of_shift,
            None if shift_weight is None else gradient[:, :F].sum(0),
            None if scale is None else (d_sender * sender).sum() * table_factors(sender.size(1), scale)[2],
        )


def start_on_differences(shift: Tensor, shared: Tensor, options: GeneratorOptions) -> None:
    """With relative phases, let half of the projections begin with ``phi_v = -s b h_v / sqrt(d)``, in place.

    Their phases then see ``h_u - h_v``; the other half sees ``h_u`` alone. Shapes: both ``[F, d]``.
    """
    if options.relative_phases and options.phase_scale is not None:
        half = options.num_projections // 2
        shift[:half] = -options.phase_scale * math.sqrt(options.sender_channels) * shared[:half]
