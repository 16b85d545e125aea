"""The plain-torch backend: any device and dtype, differentiable twice. It is the oracle of every other backend."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from mshgnn.ops.csr import ReceiverCSR


def harmonic_encoding(phase: Tensor, frequencies: Tensor) -> Tensor:
    """``psi(p) = [sin(w_1 p) | cos(w_1 p) | ... | sin(w_K p) | cos(w_K p)]``: ``[M, F] -> [M, 2KF]``.

    Without frequencies (``K = 0``) the phase itself passes: ``psi(p) = p``.
    """
    if frequencies.numel() == 0:
        return phase
    angle = phase.unsqueeze(-2) * frequencies.unsqueeze(-1)
    return torch.stack([angle.sin(), angle.cos()], dim=-2).flatten(-3)


def edge_phases(
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    csr: ReceiverCSR,
    edge_phase: Tensor | None = None,
) -> Tensor:
    """The receiver-conditioned phases ``p_vu = F_v h_u + phi_v``, one row an edge: ``[M, F]``."""
    receiver = csr.receiver
    width = x_sender.size(-1)
    projection = (x_receiver @ weight.t() + bias).view(x_receiver.size(0), weight.size(0) // width, width)
    p = torch.einsum("mfd,md->mf", projection[receiver], x_sender[csr.sender])
    if phase is not None:
        p = p + phase[receiver]
    if edge_phase is not None:
        p = p + edge_phase
    return p


def gate_values(logits: Tensor, csr: ReceiverCSR, activation: str) -> Tensor:
    """``alpha_vu`` from its logits ``[M]``: a sigmoid, or a softmax over the incoming edges of each receiver."""
    if activation == "sigmoid":
        return logits.sigmoid()
    alpha: Tensor = softmax(logits, csr.receiver, num_nodes=csr.num_receivers)
    return alpha


def harmonic_aggregate_reference(
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    csr: ReceiverCSR,
    frequencies: Tensor,
    edge_phase: Tensor | None,
    gate: Tensor | None,
    gate_activation: str,
) -> tuple[Tensor, Tensor | None]:
    """Sum ``psi`` and ``alpha psi`` over the incoming edges; see :func:`mshgnn.ops.harmonic_aggregate`."""
    p = edge_phases(x_receiver, x_sender, weight, bias, phase, csr, edge_phase)
    psi = harmonic_encoding(p, frequencies)
    receiver = csr.receiver
    zeros = psi.new_zeros(csr.num_receivers, psi.size(-1))
    total = zeros.index_add(0, receiver, psi)
    if gate is None:
        return total, None
    alpha = gate_values(psi @ gate, csr, gate_activation)
    return total, zeros.index_add(0, receiver, alpha.unsqueeze(-1) * psi)
