"""The gate of the frequency-aware readout, inside the sums: ``alpha_vu = sigma(a . psi)`` and its gradient."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from mshgnn.ops.backends.cpu.loops import add_scaled, dot, jit, scale, sigmoid
from mshgnn.ops.backends.cpu.simd import fill, fma, load, peek, poke, store
from mshgnn.ops.backends.cpu.sincos import encode

NO_GATE, SIGMOID, SOFTMAX = 0, 1, 2

_f = np.float32


@jit
def add_gated(gated, psi, gate, gating, own_weight, top, weight_sum, size, zero, lanes):
    """Add ``alpha_e c_e psi_e`` of one edge; a softmax goes by a running maximum and is divided at the end.

    Returns the maximum and the sum of weights so far.
    """
    logit = dot(gate, psi, size, zero, lanes)
    if gating == SIGMOID:
        alpha = sigmoid(logit)
    else:
        if logit > top:
            shrink = math.exp(top - logit)
            weight_sum *= shrink
            scale(gated, shrink, size, zero, lanes)
            top = logit
        alpha = math.exp(logit - top)
        weight_sum += alpha
    add_scaled(gated, 0, alpha * own_weight, psi, size, zero, lanes)
    return top, weight_sum


@jit
def softmax_backward(
    p, base, degree, F, frequencies, doubling, gate, g_gated, edge_weight, first, alphas, d_logits, psi, zero, lanes,
    scratch,
):  # fmt: skip
    """``alpha_e`` and ``dl_e = alpha_e (t_e - sum alpha t)`` with ``t_e = c_e g . psi_e`` for one receiver.

    ``c_e`` is the edge's weight, that of the receiver's first edge at ``first``.
    """
    size = 2 * frequencies.size * F
    top = _f(-np.inf)
    for e in range(degree):
        encode(p, base + e * F, F, frequencies, doubling, psi, zero, lanes, scratch)
        alphas[e] = dot(gate, psi, size, zero, lanes)
        d_logits[e] = dot(g_gated, psi, size, zero, lanes)
        if edge_weight.size:
            d_logits[e] *= peek(edge_weight, first + e)
        top = max(top, alphas[e])
    weight_sum = _f(0)
    for e in range(degree):
        alphas[e] = math.exp(alphas[e] - top)
        weight_sum += alphas[e]
    mean = _f(0)
    for e in range(degree):
        alphas[e] /= weight_sum
        mean += alphas[e] * d_logits[e]
    for e in range(degree):
        d_logits[e] = alphas[e] * (d_logits[e] - mean)


@jit
def gated_gradient(
    psi, gate, gating, alpha, d_logit, own_weight, g_plain, g_gated, g, d_gate, grad_edge_weight, e, size, zero, lanes
):  # fmt: skip
    """What arrives at ``psi`` of one edge, in ``g``; the gradients of gate and edge weight are added on the way.

    ``alpha`` and ``d_logit`` come from :func:`softmax_backward`; for a sigmoid they are computed here.
    """
    through = dot(g_gated, psi, size, zero, lanes)
    if gating == SIGMOID:
        alpha = sigmoid(dot(gate, psi, size, zero, lanes))
        d_logit = through * own_weight * alpha * (_f(1.0) - alpha)
    if grad_edge_weight.size:
        poke(grad_edge_weight, e, alpha * through + dot(g_plain, psi, size, zero, lanes))
    both, slope, own = fill(alpha, zero), fill(d_logit, zero), fill(own_weight, zero)
    for i in range(0, size, lanes):
        value = fma(both, load(g_gated, i, zero), load(g_plain, i, zero)) * own
        store(g, i, fma(slope, load(gate, i, zero), value))
    add_scaled(d_gate, 0, d_logit, psi, size, zero, lanes)
