"""The plain-torch backend: any device and dtype, differentiable twice. It is the oracle of every other backend."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from mshgnn.ops.graph import Graph, ReceiverCSR, check_csr, sum_rows
from mshgnn.ops.inputs import Generated, Inputs

NAME = "reference"


def obstacle(inputs: Inputs) -> str | None:
    """None: plain torch runs anywhere."""
    return None


def harmonic_encoding(phase: Tensor, frequencies: Tensor) -> Tensor:
    """``psi(p) = [sin(w_1 p) | cos(w_1 p) | ... | sin(w_K p) | cos(w_K p)]``: ``[M, F] -> [M, 2KF]``.

    Without frequencies (``K = 0``) the phase itself passes: ``psi(p) = p``.
    """
    if frequencies.numel() == 0:
        return phase
    angle = phase.unsqueeze(-2) * frequencies.unsqueeze(-1)
    return torch.stack([angle.sin(), angle.cos()], dim=-2).flatten(-3)


def edge_phases(inputs: Inputs) -> Tensor:
    """The receiver-conditioned phases ``p_vu``, one row per edge in the order of the graph: ``[M, F]``."""
    receiver, sender = inputs.graph.receiver, inputs.graph.sender
    phases = inputs.phases
    F = phases.num_projections
    if isinstance(phases, Generated):
        projection = phases.x_receiver @ phases.weight.t() + phases.bias
        projection = projection.view(phases.num_receivers, F, phases.x_sender.size(1))
        p = torch.einsum("mfd,md->mf", projection[receiver], phases.x_sender[sender])
        if phases.phase is not None:
            p = p + phases.phase[receiver]
    else:
        of_receivers, of_senders = phases.halves()
        t, u = of_receivers[receiver], of_senders[sender]
        p = t[:, 0] + u[:, 0] + (t[:, 1:] * u[:, 1:]).sum(dim=1)
    return p if inputs.edge_phase is None else p + inputs.edge_phase


def gate_values(logits: Tensor, graph: Graph, activation: str) -> Tensor:
    """``alpha_vu`` from its logits ``[M]``: a sigmoid, or a softmax over the incoming edges of each receiver."""
    if activation == "sigmoid":
        return logits.sigmoid()
    return softmax(logits, graph.receiver, num_nodes=graph.num_receivers)


def aggregate(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """Sum ``psi`` and ``alpha psi`` over the incoming edges; see :func:`mshgnn.ops.harmonic_aggregate`."""
    if isinstance(inputs.graph, ReceiverCSR) and not torch.compiler.is_compiling():
        check_csr(inputs.graph.rowptr, inputs.graph.sender, inputs.phases.num_senders)
    psi = harmonic_encoding(edge_phases(inputs), inputs.frequencies)
    receiver, count = inputs.graph.receiver, inputs.graph.num_receivers
    weighted = psi if inputs.edge_weight is None else inputs.edge_weight.unsqueeze(-1) * psi
    total = sum_rows(weighted, receiver, count)
    if inputs.gate is None:
        return total, None
    alpha = gate_values(psi @ inputs.gate, inputs.graph, inputs.gate_activation)
    return total, sum_rows(alpha.unsqueeze(-1) * weighted, receiver, count)
