"""The harmonic message passing layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.utils import softmax

from mshgnn.errors import UserError
from mshgnn.nn.checks import check_dense_features, check_edge_features
from mshgnn.nn.edges import as_edge_index, as_graph, in_edge_order, in_graph_order, weight_of_edges
from mshgnn.nn.generator import FactoredGenerator, FullGenerator, GeneratorOptions
from mshgnn.nn.harmonic import HarmonicEncoding
from mshgnn.nn.open_norm import EXTRA_CHANNELS, OpenNorm
from mshgnn.nn.options import Rank, Width, checked
from mshgnn.nn.pairs import channel_pair, feature_pair, width_of
from mshgnn.ops import Inputs, edge_phases, harmonic_aggregate
from mshgnn.ops.eager import without_autocast
from mshgnn.ops.graph import Graph
from mshgnn.ops.inputs import GateActivation, Phases

Aggregation = Literal["sum", "mean", "sqrt_degree"]
SenderWeight = Literal["one", "sqrt_degree"]
Features = Tensor | tuple[Tensor, Tensor]
HOOKS = [f"_{step}_forward{time}_hooks" for step in ("propagate", "message", "aggregate") for time in ("_pre", "")]
"""Where PyG keeps what wants to see messages."""


class MSHConv(MessagePassing):
    r"""Harmonic message passing: every receiver reads its senders through projections of its own making.

    .. math::
        p_{vu} &= \phi_v + \frac{s}{\sqrt{d}} \Big( b\, h_u +
            \sum_{r \le R} \frac{A_r h_v}{\sqrt{d}} \odot B_r h_u \Big) \; (+\, W_e e_{vu}) \\
        h'_v &= W_r h_v + \bigoplus_{u \to v} c_{vu}\, W_o\, \psi(p_{vu})

    with :math:`\psi` the :class:`HarmonicEncoding`, so a node reads the *distribution* of its neighbours, not their
    mean. The generator has rank ``R`` per projection (:class:`FactoredGenerator`); ``rank=None`` is the full one
    (:class:`FullGenerator`). By default :math:`h` is normalised first (:class:`OpenNorm`), the phase is scaled by a
    learned :math:`s`, conditioning starts small, and high bands of :math:`W_o` start small: without these the phase is
    a hash of its input. ``normalize=False, phase_scale=None, rank=None`` gives the equations of the paper.

    Args:
        in_channels: width of the features, or ``(senders, receivers)`` for bipartite graphs; ``-1`` takes it from the
            first input.
        out_channels: width of the output.
        num_projections: projections per receiver, ``F``.
        frequencies: positive numbers or a schedule by name, see :class:`HarmonicEncoding`.
        rank: of the generator per projection; 0 shares the projections among all receivers, ``None`` is the full
            generator.
        learn_frequencies: train the frequencies.
        phase: use the phase shift :math:`\phi_v`.
        aggr: ``"sum"``, ``"mean"``, or ``"sqrt_degree"`` (the sum over the square root of the in-degree).
        sender_weight: ``"one"``, or ``"sqrt_degree"``: divide what a sender says by the square root of how many it
            says it to. With ``aggr="sqrt_degree"`` these are the weights of GCN.
        edge_dim: width of the edge features, added to the phase.
        normalize: normalise the features before the generator and the product.
        phase_scale: where the learned scale ``s`` starts; ``None`` leaves the phase and the initialisation of the
            linear maps as printed.
        relative_phases: start half of the projections on differences, :math:`\phi_v = -s\, b\, h_v / \sqrt{d}`, so that
            their phases see :math:`h_u - h_v`; the other half sees :math:`h_u` alone. Needs the phase shift, its
            scale, and senders as wide as receivers.
        centered: take from the messages what their cosines give on average at the start, :math:`W_o c` with
            :math:`c = \exp(-(w_k s)^2 / 2)` for cosines and 0 for sines. Otherwise that constant, times the number of
            senders, outweighs what the senders say. Needs a ``phase_scale`` and frequencies; a readout's gated messages
            stay as they are.
        root_weight: add ``W_r h_v`` (with a bias), so that a node without senders keeps its own state.

    Shapes:
        - input: node features ``[N, d]`` or ``([S, d_s], [N, d_r])``; ``edge_index [2, M]`` (an ``EdgeIndex`` too), or
          a sparse adjacency ``[N, S]`` with receivers as rows (PyG's ``adj_t``); edge features ``[M, edge_dim]``; edge
          weights ``[M]``
        - output: ``[N, out_channels]``
    """

    @checked
    def __init__(
        self,
        in_channels: int | Sequence[int],
        out_channels: Width,
        num_projections: Width = 16,
        frequencies: str | Sequence[float] = (1.0, 2.0, 4.0),
        *,
        rank: Rank | None = 2,
        learn_frequencies: bool = False,
        phase: bool = True,
        aggr: Aggregation = "sum",
        sender_weight: SenderWeight = "one",
        edge_dim: Width | None = None,
        normalize: bool = True,
        phase_scale: float | None = 0.3,
        relative_phases: bool = False,
        centered: bool = False,
        root_weight: bool = True,
    ) -> None:
        super().__init__(aggr="sum", node_dim=0)
        if relative_phases and (not phase or phase_scale is None):
            raise UserError("relative_phases needs phase=True and a phase_scale")
        self.in_channels = in_channels if isinstance(in_channels, int) else tuple(in_channels)
        self.out_channels = out_channels
        self.num_projections = num_projections
        self.rank = rank
        self.aggregation: Aggregation = aggr
        self.sender_weight = sender_weight
        self.edge_dim = edge_dim
        self.phase = phase
        self.phase_scale = phase_scale
        self.relative_phases = relative_phases
        self.centered = centered
        self.encoding = HarmonicEncoding(frequencies, learn_frequencies)
        if centered and (phase_scale is None or not self.encoding.num_bands):
            raise UserError("centered needs a phase_scale and frequencies")
        self.normalize = normalize
        self.root_weight = root_weight
        self.sender_channels, self.receiver_channels = channel_pair(in_channels)
        if not self._is_waiting():
            self._make()

    def _is_waiting(self) -> bool:
        """Whether the first input has yet to tell the widths."""
        return -1 in (self.sender_channels, self.receiver_channels)

    def _take_widths(self, x_sender: Tensor, x_receiver: Tensor) -> None:
        """Make the parameters, with the widths that were left open as these features have them."""
        widths = width_of(self.sender_channels, x_sender), width_of(self.receiver_channels, x_receiver)
        self.sender_channels, self.receiver_channels = widths
        self.in_channels = widths[0] if isinstance(self.in_channels, int) else widths
        self._make()
        # as the layer was cast and put into a mode while it waited
        self.to(x_sender.device, self.encoding.frequencies.dtype).train(self.training)

    def _make(self) -> None:
        """The parameters, once the widths are known."""
        sender, receiver = self.sender_channels, self.receiver_channels
        if self.relative_phases and sender != receiver:
            raise UserError("relative_phases needs senders as wide as receivers")
        more = EXTRA_CHANNELS if self.normalize else 0
        options = GeneratorOptions(
            sender + more, receiver + more, self.num_projections, self.phase, self.phase_scale, self.relative_phases
        )
        self.generator = FullGenerator(options) if self.rank is None else FactoredGenerator(options, self.rank)
        edge_dim, F = self.edge_dim, self.num_projections
        self.edge_projection = None if edge_dim is None else nn.Linear(edge_dim, F, bias=False)
        self.output = nn.Linear(self.encoding.out_channels(F), self.out_channels, bias=False)
        self.root = nn.Linear(receiver, self.out_channels) if self.root_weight else None
        self.sender_norm = OpenNorm() if self.normalize else None
        bipartite = not isinstance(self.in_channels, int)
        self.receiver_norm = OpenNorm() if self.normalize and bipartite else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        if self._is_waiting():
            return
        for module in self.children():
            if isinstance(module, nn.Linear | OpenNorm | HarmonicEncoding | FullGenerator | FactoredGenerator):
                module.reset_parameters()
        if self.phase_scale is not None and self.encoding.num_bands:
            # High bands are rough functions of the input: they start small and earn their place.
            bands = self.encoding.frequencies.repeat_interleave(2 * self.num_projections)
            with torch.no_grad():
                self.output.weight.div_(bands.to(self.output.weight.dtype))

    def forward(
        self,
        x: Features,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Pass messages once: ``[N, out_channels]``."""
        return self._aggregate(x, edge_index, edge_attr, edge_weight, None, "sigmoid")[0]

    def forward_gated(
        self,
        x: Features,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        gate: Tensor,
        gate_activation: GateActivation = "sigmoid",
    ) -> tuple[Tensor, Tensor]:
        """The layer's output and, in the same pass, the gated messages that a frequency-aware readout needs.

        ``gate`` is ``W_1 [out_channels]``: the logit of ``alpha_vu`` is ``W_1 Psi_vu``, its ``gate_activation`` a
        ``"sigmoid"`` or a ``"softmax"`` over the incoming edges. The other arguments are those of :meth:`forward`.

        Returns the output and ``sum_u alpha_vu Psi_vu``, aggregated as ``aggr`` says, both ``[N, out_channels]``.
        """
        out, gated = self._aggregate(x, edge_index, edge_attr, None, gate, gate_activation)
        assert gated is not None
        return out, gated

    def edge_messages(self, x: Features, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """``Psi_vu`` of every edge in the order of ``edge_index``: ``[M, out_channels]``. For looking, not training."""
        encoded = self.encoding(self.edge_phases(x, edge_index, edge_attr))
        return self.output(encoded.to(self.output.weight.dtype))

    def edge_phases(self, x: Features, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """``p_vu`` of every edge in the order of ``edge_index``: ``[M, num_projections]``."""
        inputs = self._inputs(x, edge_index, edge_attr, None)
        return in_edge_order(edge_phases(inputs), inputs.graph)

    def _aggregate(
        self,
        x: Features,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        edge_weight: Tensor | None,
        gate: Tensor | None,
        gate_activation: GateActivation,
    ) -> tuple[Tensor, Tensor | None]:
        inputs = self._inputs(x, edge_index, edge_attr, edge_weight)
        return self._summed(inputs, x if isinstance(x, Tensor) else x[1], edge_index, gate, gate_activation)

    def _summed(
        self, inputs: Inputs, x: Tensor, edge_index: Tensor, gate: Tensor | None, gate_activation: GateActivation
    ) -> tuple[Tensor, Tensor | None]:
        """The messages to receivers with features ``x [N, d_r]`` and the gated ones, both ``[N, out_channels]``."""
        graph, weight = inputs.graph, self.output.weight
        # A phase in half precision is wrong by whole turns: everything up to the sum stays in float32 at least.
        with without_autocast(weight):
            if self._needs_messages():
                messages, gated = self._one_by_one(inputs, edge_index, gate, gate_activation)
            else:
                if gate is not None:
                    psi_gate = gate.to(inputs.example.dtype) @ weight.to(inputs.example.dtype)
                    inputs = inputs._replace(gate=psi_gate, gate_activation=gate_activation)
                total, gated = harmonic_aggregate(inputs)
                messages = self.output(total.to(weight.dtype))
                gated = None if gated is None else self.output(gated.to(weight.dtype))
        if self.centered:
            messages = messages - inputs.total_weight().to(messages.dtype) * self._resting_message(messages.dtype)
        if self.aggregation != "sum":
            degree = graph.degree.clamp(min=1).to(messages.dtype).unsqueeze(-1)
            divisor = degree if self.aggregation == "mean" else degree.sqrt()
            messages = messages / divisor
            gated = None if gated is None else gated / divisor
        if self.root is not None:
            messages = messages + self.root(x)
        return messages, gated

    def _inputs(self, x: Features, edge_index: Tensor, edge_attr: Tensor | None, edge_weight: Tensor | None) -> Inputs:
        """The normalised features, the phases made of them, and the graph: what the sum over edges is given."""
        x_sender, x_receiver = feature_pair(x)
        if self._is_waiting():
            self._take_widths(x_sender, x_receiver)
        dtype = self.output.weight.dtype
        names = ("x", "x") if isinstance(x, Tensor) else ("x[0]", "x[1]")
        check_dense_features(names[0], x_sender, self.sender_channels, dtype)
        check_dense_features(names[1], x_receiver, self.receiver_channels, dtype)
        graph = as_graph(edge_index, x_sender.size(0), x_receiver.size(0))
        check_edge_features(edge_attr, self.edge_dim, graph.sender.numel(), dtype)
        compute = torch.promote_types(dtype, torch.float32)
        with without_autocast(x_sender):
            h_sender = h_receiver = self._normalized(x_sender.to(compute), self.sender_norm)
            if x_receiver is not x_sender or self.receiver_norm is not None:
                h_receiver = self._normalized(x_receiver.to(compute), self.receiver_norm or self.sender_norm)
            return self._with_edges(self.generator.phases(h_sender, h_receiver), graph, edge_attr, edge_weight)

    def _with_edges(self, phases: Phases, graph: Graph, edge_attr: Tensor | None, edge_weight: Tensor | None) -> Inputs:
        """The phases and the graph with what its edges add to them and weigh."""
        edge_phase, compute = None, phases[0].dtype
        if self.edge_projection is not None and edge_attr is not None:
            of_edges = edge_attr.to(compute) @ self.edge_projection.weight.to(compute).t()
            edge_phase = in_graph_order(of_edges, graph)
        weight = weight_of_edges(edge_weight, graph, phases.num_senders, compute, self.sender_weight)
        return Inputs(phases, graph, self.encoding.frequencies.to(compute), edge_phase, weight)

    def sender_rows(self, x: Tensor) -> Tensor:
        """What receivers need of each sender, ``[S, w]``; where it is made once, :meth:`from_rows` takes it often."""
        with without_autocast(x):
            compute = torch.promote_types(self.output.weight.dtype, torch.float32)
            return self.generator.sender_rows(self._normalized(x.to(compute), self.sender_norm))

    def from_rows(self, rows: Tensor, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """:meth:`forward` of receivers ``x [N, d_r]`` alone, given the :meth:`sender_rows` of their senders."""
        graph = as_graph(edge_index, rows.size(0), x.size(0))
        check_edge_features(edge_attr, self.edge_dim, graph.sender.numel(), self.output.weight.dtype)
        with without_autocast(x):
            h = self._normalized(x.to(rows.dtype), self.receiver_norm or self.sender_norm)
            inputs = self._with_edges(self.generator.phases_from(rows, h), graph, edge_attr, None)
        return self._summed(inputs, x, edge_index, None, "sigmoid")[0]

    @staticmethod
    def _normalized(x: Tensor, norm: OpenNorm | None) -> Tensor:
        return x if norm is None else norm(x)

    def _resting_message(self, dtype: torch.dtype) -> Tensor:
        """``W_o c``, ``[out_channels]``: the mean message of normal phases with the deviation ``s`` of the start."""
        assert self.phase_scale is not None
        cosines = [math.exp(-((frequency * self.phase_scale) ** 2) / 2) for frequency in self.encoding.initial]
        bands = self.output.weight.view(self.out_channels, len(cosines), 2, self.num_projections)
        of_cosines = bands[:, :, 1].sum(dim=-1).to(dtype)
        return of_cosines @ torch.tensor(cosines, dtype=dtype, device=of_cosines.device)

    def _needs_messages(self) -> bool:
        """Whether somebody wants each edge's message: an explainer, or a hook on PyG's message passing."""
        return bool(self.explain or any(getattr(self, hook) for hook in HOOKS))

    def _one_by_one(
        self, inputs: Inputs, edge_index: Tensor, gate: Tensor | None, gate_activation: GateActivation
    ) -> tuple[Tensor, Tensor | None]:
        """The sums of the messages and, with a gate, of the gated ones, ``[N, out_channels]``, by PyG's machinery."""
        senders, receivers = inputs.phases.num_senders, inputs.phases.num_receivers
        weight = inputs.edge_weight
        out = self.propagate(
            as_edge_index(edge_index, senders, receivers),
            p=in_edge_order(edge_phases(inputs), inputs.graph),
            edge_weight=None if weight is None else in_edge_order(weight, inputs.graph),
            gate=gate,
            softmax_gate=gate_activation == "softmax",
            size=(senders, receivers),
        )
        if gate is None:
            return out, None
        messages, gated = out.chunk(2, dim=-1)
        return messages, gated

    def message(
        self,
        p: Tensor,
        edge_weight: Tensor | None,
        gate: Tensor | None,
        softmax_gate: bool,
        index: Tensor,
        size_i: int | None,
    ) -> Tensor:
        """``c_vu Psi_vu`` from the phases ``[M, F]``, and ``alpha_vu c_vu Psi_vu`` beside it when there is a gate."""
        psi = self.output(self.encoding(p).to(self.output.weight.dtype))
        weighted = psi if edge_weight is None else edge_weight.to(psi.dtype).unsqueeze(-1) * psi
        if gate is None:
            return weighted
        logits = psi @ gate
        alpha = softmax(logits, index, num_nodes=size_i) if softmax_gate else logits.sigmoid()
        return torch.cat([weighted, alpha.unsqueeze(-1) * weighted], dim=-1)

    def __repr__(self) -> str:
        """Name, widths and what decides the cost."""
        return (
            f"{self.__class__.__name__}({self.in_channels}, {self.out_channels}, "
            f"num_projections={self.num_projections}, rank={self.rank}, frequencies={self.encoding.initial}, "
            f"aggr={self.aggregation})"
        )
