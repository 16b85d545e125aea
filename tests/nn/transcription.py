"""The equations written out literally, one edge at a time: slow, and the truth that the layer is held against."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from mshgnn.nn import MSHConv


def layer_norm(h: Tensor, norm: nn.LayerNorm | None) -> Tensor:
    if norm is None:
        return h
    centred = h - h.mean()
    return centred / torch.sqrt((centred * centred).mean() + norm.eps) * norm.weight + norm.bias


def encode_phase(p: Tensor, frequencies: list[Tensor]) -> Tensor:
    if not frequencies:
        return p
    return torch.cat([part for w in frequencies for part in (torch.sin(w * p), torch.cos(w * p))])


def edge_message(conv: MSHConv, h_v: Tensor, h_u: Tensor, e_vu: Tensor | None) -> Tensor:
    """``Psi_vu = W_o psi(p_vu)`` of one edge."""
    h_v = layer_norm(h_v, conv.receiver_norm or conv.sender_norm)
    h_u = layer_norm(h_u, conv.sender_norm)
    conditioned = conv.generator.weight @ h_v
    if conv.phase_scale is not None:
        conditioned = conditioned / h_v.numel()
    projection = (conditioned + conv.generator.bias).reshape(conv.num_projections, -1)
    p = projection @ h_u
    if conv.phase_scale is not None:
        p = conv.phase_scale * p / math.sqrt(h_u.numel())
    if conv.phase_shift is not None:
        shift = conv.phase_shift.weight @ h_v
        if conv.phase_scale is not None:
            shift = shift / h_v.numel()
        p = p + shift + conv.phase_shift.bias
    if e_vu is not None:
        assert conv.edge_projection is not None
        p = p + conv.edge_projection.weight @ e_vu
    if conv.encoding.learnable:
        frequencies = [log_w.exp() for log_w in conv.encoding.log_frequencies]
    else:
        frequencies = [torch.tensor(w, dtype=p.dtype) for w in conv.encoding.initial]
    return conv.output.weight @ encode_phase(p, frequencies)


def transcribed(
    conv: MSHConv,
    x: Tensor | tuple[Tensor, Tensor],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    gate: Tensor | None = None,
    activation: str = "sigmoid",
) -> tuple[Tensor, Tensor]:
    """The output of the layer and the gated sums (zeros without a gate)."""
    x_sender, x_receiver = (x, x) if isinstance(x, Tensor) else x
    outputs, gated = [], []
    for v in range(x_receiver.size(0)):
        incoming = [e for e in range(edge_index.size(1)) if edge_index[1, e] == v]
        messages = [
            edge_message(conv, x_receiver[v], x_sender[edge_index[0, e]], None if edge_attr is None else edge_attr[e])
            for e in incoming
        ]
        alphas = [] if gate is None else attention([gate @ message for message in messages], activation)
        zero = x_receiver.new_zeros(conv.out_channels)
        total = sum(messages, start=zero)
        pooled = sum((alpha * message for alpha, message in zip(alphas, messages, strict=False)), start=zero)
        if conv.aggregation != "sum" and incoming:
            divisor = len(incoming) if conv.aggregation == "mean" else math.sqrt(len(incoming))
            total, pooled = total / divisor, pooled / divisor
        if conv.root is not None:
            total = total + conv.root.weight @ x_receiver[v] + conv.root.bias
        outputs.append(total)
        gated.append(pooled)
    return torch.stack(outputs), torch.stack(gated)


def attention(logits: list[Tensor], activation: str) -> list[Tensor]:
    if activation == "sigmoid":
        return [1 / (1 + torch.exp(-logit)) for logit in logits]
    weights = [torch.exp(logit) for logit in logits]
    return [weight / sum(weights[1:], start=weights[0]) for weight in weights]
