"""The arithmetic of one harmonic layer: one public function, interchangeable backends."""

from __future__ import annotations

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops.backend import get_backend, last_backend, record_backend, set_backend
from mshgnn.ops.csr import INDEX_DTYPES, ReceiverCSR, check_csr, receiver_csr
from mshgnn.ops.fused import harmonic_aggregate_fused, obstacle
from mshgnn.ops.reference import edge_phases, gate_values, harmonic_aggregate_reference, harmonic_encoding

__all__ = [
    "ReceiverCSR",
    "edge_phases",
    "gate_values",
    "get_backend",
    "harmonic_aggregate",
    "harmonic_encoding",
    "last_backend",
    "receiver_csr",
    "set_backend",
]


def harmonic_aggregate(
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    csr: ReceiverCSR,
    frequencies: Tensor,
    *,
    edge_phase: Tensor | None = None,
    gate: Tensor | None = None,
    gate_activation: str = "sigmoid",
) -> tuple[Tensor, Tensor | None]:
    r"""Sum harmonic encodings over the incoming edges of every receiver.

    .. math::
        F_v &= \mathrm{reshape}(W_f h_v + b_f) \in \mathbb{R}^{F \times d_s}, \qquad
        p_{vu} = F_v h_u + \phi_v \; (+\, e_{vu}) \\
        S_v &= \sum_u \psi(p_{vu}), \qquad
        G_v = \sum_u \alpha_{vu}\, \psi(p_{vu}), \qquad \alpha_{vu} = \sigma(a^\top \psi(p_{vu}))

    ``W_o`` is linear and leaves the sum, so it is applied to ``S_v`` and ``G_v`` afterwards: no message as wide as the
    features ever exists.

    Args:
        x_receiver: ``h_v`` of the receivers, ``[N, d_r]``.
        x_sender: ``h_u`` of the senders, ``[S, d_s]``.
        weight: ``W_f``, ``[F * d_s, d_r]``; row ``f * d_s + i`` makes entry ``(f, i)`` of ``F_v``.
        bias: ``b_f``, ``[F * d_s]``.
        phase: ``phi_v``, ``[N, F]``, or ``None``.
        csr: the edges in receiver order, from :func:`receiver_csr`.
        frequencies: ``w_1 .. w_K``, ``[K]``; ``K = 0`` lets the phase itself pass (``psi(p) = p``).
        edge_phase: added to the phases, ``[M, F]`` in the order of ``csr``, or ``None``.
        gate: ``a = W_o^T W_1^T``, ``[2KF]`` (``[F]`` when ``K = 0``), or ``None``.
        gate_activation: ``"sigmoid"``, or ``"softmax"`` over the incoming edges of a receiver.

    Returns:
        ``S [N, 2KF]`` and ``G [N, 2KF]`` (``None`` without a gate). A receiver without edges gets zeros.
    """
    _check_arguments(x_receiver, x_sender, weight, bias, phase, csr, frequencies, edge_phase, gate, gate_activation)
    choice = get_backend()
    fused = choice != "reference"
    if fused and (reason := obstacle(x_receiver, frequencies)) is not None:
        if choice == "fused":
            raise UserError(f"the fused backend does not apply: {reason}")
        fused = False
    if not torch.compiler.is_compiling():
        record_backend("fused" if fused else "reference")
        if not fused:  # the fused operator checks by itself, once per graph
            check_csr(csr.rowptr, csr.sender, x_sender.size(0))
    aggregate = harmonic_aggregate_fused if fused else harmonic_aggregate_reference
    return aggregate(x_receiver, x_sender, weight, bias, phase, csr, frequencies, edge_phase, gate, gate_activation)


def _check_arguments(
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
) -> None:
    for name, matrix in (("x_receiver", x_receiver), ("x_sender", x_sender), ("weight", weight)):
        if matrix.dim() != 2:
            raise UserError(f"{name} must have two dimensions, got shape {list(matrix.shape)}")
        if not matrix.is_floating_point():
            raise UserError(f"{name} must be a floating point tensor, got {matrix.dtype}")
    num_receivers, receiver_width = x_receiver.shape
    sender_width = x_sender.size(1)
    if sender_width == 0 or weight.size(0) % sender_width:
        raise UserError(
            f"weight must have num_projections * {sender_width} rows for x_sender of width {sender_width}, "
            f"got {weight.size(0)}"
        )
    num_projections = weight.size(0) // sender_width
    num_bands = frequencies.numel()
    width = 2 * num_bands * num_projections if num_bands else num_projections
    num_edges = csr.sender.numel()
    expected: list[tuple[str, Tensor | None, tuple[int, ...]]] = [
        ("weight", weight, (num_projections * sender_width, receiver_width)),
        ("bias", bias, (num_projections * sender_width,)),
        ("phase", phase, (num_receivers, num_projections)),
        ("csr.rowptr", csr.rowptr, (num_receivers + 1,)),
        ("frequencies", frequencies, (num_bands,)),
        ("edge_phase", edge_phase, (num_edges, num_projections)),
        ("gate", gate, (width,)),
    ]
    for name, tensor, shape in expected:
        if tensor is None:
            continue
        if tuple(tensor.shape) != shape:
            raise UserError(f"{name} must have shape {list(shape)}, got {list(tensor.shape)}")
        if name != "csr.rowptr" and tensor.dtype != x_receiver.dtype:
            raise UserError(f"{name} must be {x_receiver.dtype} like x_receiver, got {tensor.dtype}")
    if x_sender.dtype != x_receiver.dtype:
        raise UserError(f"x_sender must be {x_receiver.dtype} like x_receiver, got {x_sender.dtype}")
    for name, index in (("csr.rowptr", csr.rowptr), ("csr.sender", csr.sender)):
        if index.dtype not in INDEX_DTYPES:
            raise UserError(f"{name} must be int32 or int64, got {index.dtype}")
    if gate_activation not in ("sigmoid", "softmax"):
        raise UserError(f"gate_activation must be 'sigmoid' or 'softmax', got {gate_activation!r}")
