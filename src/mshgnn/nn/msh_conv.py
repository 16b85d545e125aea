"""The harmonic message passing layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from mshgnn.errors import UserError
from mshgnn.nn.checks import check_choice, check_edge_features, check_features, check_number, check_positive
from mshgnn.nn.edges import as_csr, in_edge_order
from mshgnn.nn.harmonic import HarmonicEncoding
from mshgnn.nn.messages import MessageByMessage
from mshgnn.nn.options import Width
from mshgnn.ops import ReceiverCSR, edge_phases, harmonic_aggregate

Aggregation = Literal["sum", "mean", "sqrt_degree"]
AGGREGATIONS = ("sum", "mean", "sqrt_degree")


class MSHConv(MessageByMessage):
    r"""Harmonic message passing: every receiver reads its senders through projections of its own making.

    .. math::
        F_v &= \mathrm{reshape}(W_f h_v / d + b_f) \in \mathbb{R}^{F \times d}, \qquad
        \phi_v = W_\phi h_v / d + b_\phi \\
        p_{vu} &= s\, F_v h_u / \sqrt{d} + \phi_v \; (+\, W_e e_{vu}) \\
        h'_v &= W_r h_v + \bigoplus_{u \to v} W_o\, \psi(p_{vu})

    with :math:`\psi` the :class:`HarmonicEncoding`. By default :math:`h` is layer-normalised first, the phase is scaled
    by a learned :math:`s`, and the layer starts as a shared Fourier map: phases stay of order one whatever the
    degrees, so it trains without tricks. ``normalize=False, phase_scale=None, root_weight=False`` is the layer as
    printed in the paper: no :math:`s`, no division by :math:`d` or :math:`\sqrt{d}`, no :math:`W_r`.

    Args:
        in_channels: width of the node features, or a pair ``(senders, receivers)`` for bipartite graphs.
        out_channels: width of the output.
        num_projections: projections a receiver makes, ``F``.
        frequencies: numbers or the name of a schedule, see :class:`HarmonicEncoding`.
        learn_frequencies: train the frequencies.
        phase: use the phase shift ``phi_v``.
        aggr: ``"sum"``, ``"mean"``, or ``"sqrt_degree"`` (the sum over the square root of the in-degree).
        edge_dim: width of the edge features, added to the phase.
        normalize: layer-normalise the features before the generator and the product.
        phase_scale: where the learned scale ``s`` starts; ``None`` leaves the phase and the initialisation of the
            linear maps as printed.
        relative_phases: start half of the projections on differences, :math:`\phi_v = -s\, b_f h_v / \sqrt{d}`, so that
            their phases see :math:`h_u - h_v`; the other half sees :math:`h_u` alone. Needs the phase shift, its
            scale, and senders as wide as receivers.
        centered: take from the messages what their cosines give on average at the start, :math:`W_o c` with
            :math:`c = \exp(-(w_k s)^2 / 2)` for cosines and 0 for sines. Otherwise that constant, times the number of
            senders, outweighs what the senders say. Needs a ``phase_scale`` and frequencies; a readout's gated messages
            stay as they are.
        root_weight: add ``W_r h_v`` (with a bias), so that a node without senders keeps its own state.

    Shapes:
        - input: node features ``[N, d]`` or ``([S, d_s], [N, d_r])``; ``edge_index [2, M]`` (an ``EdgeIndex`` too), or
          a sparse adjacency ``[N, S]`` with receivers as rows (PyG's ``adj_t``); edge features ``[M, edge_dim]``
        - output: ``[N, out_channels]``
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        num_projections: Width = 16,
        frequencies: Sequence[float] | str = (1.0, 2.0, 4.0),
        *,
        learn_frequencies: bool = False,
        phase: bool = True,
        aggr: Aggregation = "sum",
        edge_dim: Width | None = None,
        normalize: bool = True,
        phase_scale: float | None = 0.3,
        relative_phases: bool = False,
        centered: bool = False,
        root_weight: bool = True,
    ) -> None:
        check_choice("aggr", aggr, AGGREGATIONS)
        sender_channels, receiver_channels = _channel_pair(in_channels)
        for name, value in (("out_channels", out_channels), ("num_projections", num_projections)):
            check_positive(name, value)
        if edge_dim is not None:
            check_positive("edge_dim", edge_dim)
        if phase_scale is not None:
            check_number("phase_scale", phase_scale)
        if relative_phases and (not phase or phase_scale is None or sender_channels != receiver_channels):
            raise UserError("relative_phases needs phase=True, a phase_scale, and senders as wide as receivers")
        # The generator F_v is a 3-D node tensor on the message path, so nodes must lie along dimension 0.
        super().__init__(aggr="sum", node_dim=0)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.num_projections = num_projections
        self.aggregation = aggr
        self.edge_dim = edge_dim
        self.sender_channels, self.receiver_channels = sender_channels, receiver_channels

        self.encoding = HarmonicEncoding(frequencies, learn_frequencies)
        if centered and (phase_scale is None or not self.encoding.num_bands):
            raise UserError("centered needs a phase_scale and frequencies")
        self.generator = nn.Linear(receiver_channels, num_projections * sender_channels)
        self.phase_shift = nn.Linear(receiver_channels, num_projections) if phase else None
        self.edge_projection = nn.Linear(edge_dim, num_projections, bias=False) if edge_dim is not None else None
        self.output = nn.Linear(self.encoding.out_channels(num_projections), out_channels, bias=False)
        self.root = nn.Linear(receiver_channels, out_channels) if root_weight else None
        self.sender_norm = nn.LayerNorm(sender_channels) if normalize else None
        self.receiver_norm = nn.LayerNorm(receiver_channels) if normalize and not isinstance(in_channels, int) else None
        self.relative_phases = relative_phases
        self.centered = centered
        self.initial_phase_scale = phase_scale
        self.phase_scale = None if phase_scale is None else nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        for module in self.children():
            if isinstance(module, nn.Linear | nn.LayerNorm | HarmonicEncoding):
                module.reset_parameters()
        if self.phase_scale is None or self.initial_phase_scale is None:
            return
        with torch.no_grad():
            self.phase_scale.fill_(self.initial_phase_scale)
            # F_v = b_f at first, nearly: a Fourier map that all receivers share and that learns to be conditioned.
            self.generator.weight.normal_(std=0.5)
            self.generator.bias.normal_()
            if self.phase_shift is not None:
                self.phase_shift.weight.normal_(std=0.5)
                if self.relative_phases:
                    half, scale = self.num_projections // 2, self.initial_phase_scale * math.sqrt(self.sender_channels)
                    shared = self.generator.bias.view(self.num_projections, self.sender_channels)
                    self.phase_shift.weight[:half] = -scale * shared[:half]
            if self.encoding.num_bands:
                # High bands are rough functions of the input: they start small and earn their place.
                bands = self.encoding.frequencies.repeat_interleave(2 * self.num_projections)
                self.output.weight.div_(bands.to(self.output.weight.dtype))

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Pass messages once: ``[N, out_channels]``."""
        out, _ = self._aggregate(x, edge_index, edge_attr, None, "sigmoid")
        return out

    def forward_gated(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        edge_attr: Tensor | None,
        gate: Tensor,
        gate_activation: str = "sigmoid",
    ) -> tuple[Tensor, Tensor]:
        """The layer's output and, in the same pass, the gated messages that a frequency-aware readout needs.

        Args:
            x: node features as in :meth:`forward`.
            edge_index: edges as in :meth:`forward`.
            edge_attr: edge features or ``None``.
            gate: ``W_1``, ``[out_channels]``: the logit of ``alpha_vu`` is ``W_1 Psi_vu``.
            gate_activation: ``"sigmoid"`` or ``"softmax"`` over the incoming edges.

        Returns:
            the output and ``sum_u alpha_vu Psi_vu``, aggregated as ``aggr`` says, both ``[N, out_channels]``.
        """
        out, gated = self._aggregate(x, edge_index, edge_attr, gate, gate_activation)
        assert gated is not None
        return out, gated

    def edge_messages(
        self, x: Tensor | tuple[Tensor, Tensor], edge_index: Tensor, edge_attr: Tensor | None = None
    ) -> Tensor:
        """``Psi_vu`` of every edge in the order of ``edge_index``: ``[M, out_channels]``. For looking, not training."""
        encoded = self.encoding(self.edge_phases(x, edge_index, edge_attr))
        messages: Tensor = self.output(encoded.to(self.output.weight.dtype))
        return messages

    def edge_phases(
        self, x: Tensor | tuple[Tensor, Tensor], edge_index: Tensor, edge_attr: Tensor | None = None
    ) -> Tensor:
        """``p_vu`` of every edge in the order of ``edge_index``: ``[M, num_projections]``."""
        x_sender, x_receiver, csr = self._inputs(x, edge_index)
        edge_phase = self._edge_phase(edge_attr, csr)
        with torch.autocast(x_sender.device.type, enabled=False):  # see _aggregate
            weight, bias, phase = self._projection(x_receiver)
            p = edge_phases(x_receiver, x_sender, weight, bias, phase, csr, edge_phase)
        return in_edge_order(p, csr)

    def _aggregate(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Tensor,
        edge_attr: Tensor | None,
        gate: Tensor | None,
        gate_activation: str,
    ) -> tuple[Tensor, Tensor | None]:
        x_sender, x_receiver, csr = self._inputs(x, edge_index)
        raw_receiver = x if isinstance(x, Tensor) else x[1]
        edge_phase = self._edge_phase(edge_attr, csr)
        # A phase in half precision is wrong by whole turns: everything up to the sum stays in float32 at least.
        with torch.autocast(x_sender.device.type, enabled=False):
            weight, bias, phase = self._projection(x_receiver)
            if self._needs_messages():
                messages, gated = self._propagate_messages(
                    x_sender, x_receiver, edge_index, (weight, bias, phase), edge_phase, csr, gate, gate_activation
                )
            else:
                psi_gate = None if gate is None else gate.to(weight.dtype) @ self.output.weight.to(weight.dtype)
                total, gated_total = harmonic_aggregate(
                    x_receiver,
                    x_sender,
                    weight,
                    bias,
                    phase,
                    csr,
                    self.encoding.frequencies.to(weight.dtype),
                    edge_phase=edge_phase,
                    gate=psi_gate,
                    gate_activation=gate_activation,
                )
                messages = self.output(total.to(self.output.weight.dtype))
                gated = None if gated_total is None else self.output(gated_total.to(self.output.weight.dtype))
        if self.centered:
            messages = messages - csr.degree.to(messages.dtype).unsqueeze(-1) * self._resting_message(messages.dtype)
        if self.aggregation != "sum":
            degree = csr.degree.clamp(min=1).to(messages.dtype).unsqueeze(-1)
            divisor = degree if self.aggregation == "mean" else degree.sqrt()
            messages = messages / divisor
            gated = None if gated is None else gated / divisor
        out = messages if self.root is None else messages + self.root(raw_receiver)
        return out, gated

    def _resting_message(self, dtype: torch.dtype) -> Tensor:
        """``W_o c``, ``[out_channels]``: the mean message of normal phases with the deviation ``s`` of the start."""
        assert self.initial_phase_scale is not None
        cosines = [math.exp(-((frequency * self.initial_phase_scale) ** 2) / 2) for frequency in self.encoding.initial]
        bands = self.output.weight.view(self.out_channels, len(cosines), 2, self.num_projections)
        of_cosines = bands[:, :, 1].sum(dim=-1).to(dtype)
        return of_cosines @ torch.tensor(cosines, dtype=dtype, device=of_cosines.device)

    def _inputs(self, x: Tensor | tuple[Tensor, Tensor], edge_index: Tensor) -> tuple[Tensor, Tensor, ReceiverCSR]:
        x_sender, x_receiver = (x, x) if isinstance(x, Tensor) else _feature_pair(x)
        for name, features, width in (
            ("x" if isinstance(x, Tensor) else "x[0]", x_sender, self.sender_channels),
            ("x" if isinstance(x, Tensor) else "x[1]", x_receiver, self.receiver_channels),
        ):
            check_features(name, features, width, self.output.weight.dtype)
            if features.layout != torch.strided:
                raise UserError(f"{name} must be dense, got {features.layout}")
        csr = as_csr(edge_index, x_sender.size(0), x_receiver.size(0))
        with torch.autocast(x_sender.device.type, enabled=False):
            compute = torch.promote_types(self.output.weight.dtype, torch.float32)
            h_sender = _normalized(x_sender, self.sender_norm, compute)
            if x_sender is x_receiver and self.receiver_norm is None:
                return h_sender, h_sender, csr
            receiver_norm = self.sender_norm if self.receiver_norm is None else self.receiver_norm
            return h_sender, _normalized(x_receiver, receiver_norm, compute), csr

    def _projection(self, x_receiver: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """``W_f`` and ``b_f`` with the phase's scale folded in, and ``phi_v``."""
        compute = x_receiver.dtype
        weight, bias = self.generator.weight.to(compute), self.generator.bias.to(compute)
        # What a receiver says about phases it says as a mean over its features: as a sum, one step of Adam, which moves
        # all weights alike, turns phases by an angle that grows with the width.
        condition = 1.0
        if self.phase_scale is not None:
            condition = 1.0 / self.receiver_channels
            scale = self.phase_scale.to(compute) / math.sqrt(self.sender_channels)
            weight, bias = weight * (scale * condition), bias * scale
        if self.phase_shift is None:
            return weight, bias, None
        shift_weight, shift_bias = self.phase_shift.weight.to(compute), self.phase_shift.bias.to(compute)
        return weight, bias, nn.functional.linear(x_receiver, shift_weight * condition, shift_bias)

    def _edge_phase(self, edge_attr: Tensor | None, csr: ReceiverCSR) -> Tensor | None:
        """``W_e e_vu`` in the order of ``csr``."""
        check_edge_features(edge_attr, self.edge_dim, csr.sender.numel(), self.output.weight.dtype)
        if self.edge_projection is None or edge_attr is None:
            return None
        with torch.autocast(edge_attr.device.type, enabled=False):
            compute = torch.promote_types(self.output.weight.dtype, torch.float32)
            return edge_attr[csr.order].to(compute) @ self.edge_projection.weight.to(compute).t()

    def __repr__(self) -> str:
        """Name, widths and number of projections."""
        return (
            f"{self.__class__.__name__}({self.in_channels}, {self.out_channels}, "
            f"num_projections={self.num_projections}, frequencies={self.encoding.initial}, aggr={self.aggregation})"
        )


def _normalized(x: Tensor, norm: nn.LayerNorm | None, dtype: torch.dtype) -> Tensor:
    x = x.to(dtype)
    if norm is None:
        return x
    return nn.functional.layer_norm(x, norm.normalized_shape, norm.weight.to(dtype), norm.bias.to(dtype), norm.eps)


def _channel_pair(in_channels: object) -> tuple[int, int]:
    pair = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UserError(f"in_channels must be a number or a pair (senders, receivers), got {in_channels!r}")
    for channels in pair:
        check_positive("in_channels", channels)
    return pair[0], pair[1]


def _feature_pair(x: object) -> tuple[Tensor, Tensor]:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise UserError(f"x must be a tensor or a pair (x_sender, x_receiver), got {type(x).__name__}")
    return x[0], x[1]
