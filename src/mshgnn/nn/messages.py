"""Messages one by one, through PyG's own machinery: for those who want to see each of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.utils import softmax

from mshgnn.nn.edges import as_edge_index, in_edge_order
from mshgnn.nn.harmonic import HarmonicEncoding
from mshgnn.ops import ReceiverCSR


class MessageByMessage(MessagePassing):
    """The slow way of :class:`MSHConv`: a row for every edge. The fused way makes none, so hooks would see nothing."""

    num_projections: int
    sender_channels: int
    encoding: HarmonicEncoding
    output: nn.Linear

    def _needs_messages(self) -> bool:
        """Whether somebody wants each edge's message: an explainer, or a hook on PyG's message passing."""
        return bool(
            self.explain
            or self._propagate_forward_pre_hooks
            or self._propagate_forward_hooks
            or self._message_forward_pre_hooks
            or self._message_forward_hooks
            or self._aggregate_forward_pre_hooks
            or self._aggregate_forward_hooks
        )

    def _propagate_messages(
        self,
        x_sender: Tensor,
        x_receiver: Tensor,
        edge_index: Tensor,
        projection: tuple[Tensor, Tensor, Tensor | None],
        edge_phase: Tensor | None,
        csr: ReceiverCSR,
        gate: Tensor | None,
        gate_activation: str,
    ) -> tuple[Tensor, Tensor | None]:
        """The sums over senders of the messages and, with a gate, of the gated ones, both ``[N, out_channels]``."""
        weight, bias, phase = projection
        f = (x_receiver @ weight.t() + bias).view(-1, self.num_projections, self.sender_channels)
        if edge_phase is not None:
            edge_phase = in_edge_order(edge_phase, csr)
        out = self.propagate(
            as_edge_index(edge_index, x_sender.size(0), x_receiver.size(0)),
            x=(x_sender, None),
            projection=(None, f),
            phase=(None, phase),
            edge_phase=edge_phase,
            gate=gate,
            softmax_gate=gate_activation == "softmax",
            size=(x_sender.size(0), x_receiver.size(0)),
        )
        if gate is None:
            return out, None
        messages, gated = out.chunk(2, dim=-1)
        return messages, gated

    def message(
        self,
        x_j: Tensor,
        projection_i: Tensor,
        phase_i: Tensor | None,
        edge_phase: Tensor | None,
        gate: Tensor | None,
        softmax_gate: bool,
        index: Tensor,
        size_i: int | None,
    ) -> Tensor:
        """``Psi_vu``, and ``alpha_vu Psi_vu`` beside it when there is a gate."""
        p = torch.einsum("mfd,md->mf", projection_i, x_j)
        if phase_i is not None:
            p = p + phase_i
        if edge_phase is not None:
            p = p + edge_phase
        psi: Tensor = self.output(self.encoding(p).to(self.output.weight.dtype))
        if gate is None:
            return psi
        logits = psi @ gate
        alpha = softmax(logits, index, num_nodes=size_i) if softmax_gate else logits.sigmoid()
        return torch.cat([psi, alpha.unsqueeze(-1) * psi], dim=-1)
