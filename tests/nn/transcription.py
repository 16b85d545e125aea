"""The equations written out literally, one edge at a time: slow, and the truth that the layer is held against."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mshgnn.nn import MSHConv
from mshgnn.nn.generator import FullGenerator
from mshgnn.nn.open_norm import OpenNorm


def open_features(x: Tensor, norm: OpenNorm | None) -> list[Tensor]:
    """Layer norm of every node, then the mean and the log variance it removed, standardised over the nodes."""
    if norm is None:
        return list(x)
    means = [h.mean() for h in x]
    variances = [((h - mean) * (h - mean)).mean() + 1e-5 for h, mean in zip(x, means, strict=True)]
    removed = torch.stack([torch.stack([m, v.log()]) for m, v in zip(means, variances, strict=True)])
    mean, variance = norm.mean, norm.variance
    if norm.training and len(x) > 1:
        mean = removed.mean(0)
        variance = ((removed - mean) ** 2).mean(0)
    standard = (removed - mean) / torch.sqrt(variance + 1e-5)
    return [torch.cat([(h - m) / torch.sqrt(v), z]) for h, m, v, z in zip(x, means, variances, standard, strict=True)]


def encode_phase(p: Tensor, frequencies: list[Tensor]) -> Tensor:
    if not frequencies:
        return p
    return torch.cat([part for w in frequencies for part in (torch.sin(w * p), torch.cos(w * p))])


def projection(conv: MSHConv, h_v: Tensor) -> tuple[Tensor, Tensor]:
    """``F_v [F, d]`` and ``phi_v [F]`` of one receiver, without the phase's scale."""
    generator, F = conv.generator, conv.num_projections
    share = 1.0 if generator.scale is None else 1.0 / h_v.numel()
    if isinstance(generator, FullGenerator):
        F_v = (share * (generator.projection.weight @ h_v) + generator.projection.bias).reshape(F, -1)
        if generator.shift is None:
            return F_v, h_v.new_zeros(F)
        return F_v, share * (generator.shift.weight @ h_v) + generator.shift.bias
    phi = h_v.new_zeros(F)
    if generator.shift is not None:
        phi = share * (generator.shift.weight @ h_v) + generator.shift.bias
    b, *B = torch.split(generator.sender, F)
    root = 1.0 if generator.scale is None else 1.0 / math.sqrt(h_v.numel())
    F_v = b
    for r, B_r in enumerate(B):
        A_r = generator.receiver[r * F : (r + 1) * F]
        F_v = F_v + torch.stack([root * (A_r[f] @ h_v) * B_r[f] for f in range(F)])
    return F_v, phi


def edge_message(conv: MSHConv, h_v: Tensor, h_u: Tensor, e_vu: Tensor | None) -> Tensor:
    """``Psi_vu = W_o psi(p_vu)`` of one edge, from the normalised features of its ends."""
    F_v, phi = projection(conv, h_v)
    p = F_v @ h_u
    if conv.generator.scale is not None:
        p = conv.generator.scale * p / math.sqrt(h_u.numel())
    p = p + phi
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
    edge_weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The output of the layer and the gated sums (zeros without a gate)."""
    x_sender, x_receiver = (x, x) if isinstance(x, Tensor) else x
    h_sender = open_features(x_sender, conv.sender_norm)
    h_receiver = open_features(x_receiver, conv.receiver_norm or conv.sender_norm)
    weights = torch.ones(edge_index.size(1), dtype=x_sender.dtype) if edge_weight is None else edge_weight
    if conv.sender_weight == "sqrt_degree":
        uses = [int((edge_index[0] == u).sum()) for u in edge_index[0]]
        weights = weights / torch.tensor(uses, dtype=x_sender.dtype).sqrt()

    def attribute(e: int) -> Tensor | None:
        return None if edge_attr is None else edge_attr[e]

    outputs, gated = [], []
    for v in range(x_receiver.size(0)):
        incoming = [e for e in range(edge_index.size(1)) if edge_index[1, e] == v]
        messages = [
            weights[e] * edge_message(conv, h_receiver[v], h_sender[edge_index[0, e]], attribute(e)) for e in incoming
        ]
        plain = [message / weights[e] for message, e in zip(messages, incoming, strict=True)]
        alphas = [] if gate is None else attention([gate @ message for message in plain], activation)
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
