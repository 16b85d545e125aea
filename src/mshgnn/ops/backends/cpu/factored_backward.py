"""The numba kernel of the factored phase, backward; see :mod:`mshgnn.ops.backends.cpu.factored_forward`."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from mshgnn.compiled import compile_now
from mshgnn.ops.backends.cpu.compile import Known
from mshgnn.ops.backends.cpu.factored_edges import (
    AHEAD,
    GROUP,
    SHARED_SIGNATURE,
    add_to,
    pass_on,
    phase_of,
    prefetch_rows,
    sender_row,
)
from mshgnn.ops.backends.cpu.gate_kernels import NO_GATE, SOFTMAX, gated_gradient, softmax_backward
from mshgnn.ops.backends.cpu.loops import FLUSH, clear, copy_padded, dot, flush
from mshgnn.ops.backends.cpu.simd import fill, fma, load, peek, poke, splat, store, zeros
from mshgnn.ops.backends.cpu.sincos import encode, next_band

_f = np.float32
_BACKWARD = f"i8({SHARED_SIGNATURE},f4[::1],f4[::1],f4[::1],i8,f4[::1],i8,i8,i8,f4[::1],f4[::1],f8[::1],f8[::1])"


def build_backward(lanes: int, known: Known | None, source: int):
    """The backward kernel; see :func:`mshgnn.ops.backends.cpu.factored_forward.build_forward`."""

    fixed = known is not None
    rank, num_bands = known or (0, 0)

    @compile_now([_BACKWARD], nogil=True, error_model="numpy", boundscheck=False)
    def backward(
        lo, hi, R, P, F, receiver, receiver_stride, sender, sender_stride, sender_start, rowptr, senders,
        edge_phase, edge_weight, frequencies, doubling, gate, gating, grad_S, grad_G, grad_receiver,
        grad_receiver_stride, grad_sender, grad_sender_stride, grad_sender_start, first_sender, grad_edge_phase,
        grad_edge_weight, grad_frequencies, grad_gate,
    ):  # fmt: skip
        """Gradients of the receivers ``lo <= v < hi``.

        ``grad_sender`` starts at sender ``first_sender`` and is added to. ``grad_frequencies`` and ``grad_gate`` are
        sums over the receivers of a chunk, kept in float64. Empty arrays stand for gradients that nobody wants.
        """
        zero = zeros(lanes)
        if fixed:
            R = rank
            F = lanes
            gating = NO_GATE
        K = num_bands if fixed else frequencies.size
        doubling = fixed or doubling
        bands = 2 * K
        size = bands * F
        width = (R + 1) * F
        scratch = np.empty(2 * lanes, np.float32)
        psi = np.empty(size, np.float32)
        g_plain = np.zeros(size, np.float32)
        g_gated = np.zeros(size, np.float32)
        g = np.zeros(size, np.float32)  # what arrives at one edge; in a plain sum, times the frequency
        t = np.empty(width, np.float32)
        d_t = np.empty(width, np.float32)
        p = np.empty(F, np.float32)
        d_frequency = np.zeros(K * F, np.float32)
        d_gate = np.zeros(size, np.float32)
        weighted = edge_weight.size > 0
        want_edge_phase = grad_edge_phase.size > 0
        want_edge_weight = grad_edge_weight.size > 0
        want_frequencies = grad_frequencies.size > 0
        plain_sum = fixed or (gating == NO_GATE and not want_edge_weight and not want_frequencies)
        alphas = np.empty(0, np.float32)
        d_logits = np.empty(0, np.float32)
        phases = np.empty(0, np.float32)
        if gating == SOFTMAX:
            largest = 0
            for v in range(lo, hi):
                largest = max(largest, peek(rowptr, v + 1) - peek(rowptr, v))
            alphas = np.empty(largest, np.float32)
            d_logits = np.empty(largest, np.float32)
            phases = np.empty(largest * F, np.float32)
        for v in range(lo, hi):
            first, last = peek(rowptr, v), peek(rowptr, v + 1)
            clear(d_t, 0, width, zero, lanes)
            for i in range(0, width, lanes):
                store(t, i, load(receiver, v * receiver_stride + i, zero))
            place = v * bands * P
            copy_padded(grad_S, place, g_plain, 0, P, F, bands, zero, lanes)
            if gating != NO_GATE:
                copy_padded(grad_G, place, g_gated, 0, P, F, bands, zero, lanes)
            begin = first
            if plain_sum:
                for k in range(K):
                    w = splat(frequencies, k, zero)
                    for i in range(2 * k * F, (2 * k + 2) * F, lanes):
                        store(g, i, w * load(g_plain, i, zero))
                full = last - (last - first) % GROUP
                for e in range(first, full, GROUP):
                    u0 = sender_row(senders, e, sender_stride, sender_start)
                    u1 = sender_row(senders, e + 1, sender_stride, sender_start)
                    u2 = sender_row(senders, e + 2, sender_stride, sender_start)
                    u3 = sender_row(senders, e + 3, sender_stride, sender_start)
                    d0 = sender_row(senders, e, grad_sender_stride, grad_sender_start)
                    d1 = sender_row(senders, e + 1, grad_sender_stride, grad_sender_start)
                    d2 = sender_row(senders, e + 2, grad_sender_stride, grad_sender_start)
                    d3 = sender_row(senders, e + 3, grad_sender_stride, grad_sender_start)
                    origin = first_sender * grad_sender_stride
                    prefetch_rows(sender, senders, e + AHEAD, 0, sender_stride, sender_start, width)
                    prefetch_rows(
                        grad_sender, senders, e + GROUP, first_sender, grad_sender_stride, grad_sender_start, width
                    )
                    for block in range(0, F, lanes):
                        p0 = phase_of(t, block, sender, u0, R, F, edge_phase, e, zero)
                        p1 = phase_of(t, block, sender, u1, R, F, edge_phase, e + 1, zero)
                        p2 = phase_of(t, block, sender, u2, R, F, edge_phase, e + 2, zero)
                        p3 = phase_of(t, block, sender, u3, R, F, edge_phase, e + 3, zero)
                        s0 = c0 = s1 = c1 = s2 = c2 = s3 = c3 = zero
                        q0 = q1 = q2 = q3 = zero
                        for k in range(K):
                            s0, c0 = next_band(p0, s0, c0, k, frequencies, doubling, scratch, lanes)
                            s1, c1 = next_band(p1, s1, c1, k, frequencies, doubling, scratch, lanes)
                            s2, c2 = next_band(p2, s2, c2, k, frequencies, doubling, scratch, lanes)
                            s3, c3 = next_band(p3, s3, c3, k, frequencies, doubling, scratch, lanes)
                            of_sine = load(g, 2 * k * F + block, zero)
                            of_cosine = load(g, (2 * k + 1) * F + block, zero)
                            q0 = fma(of_sine, c0, q0) - of_cosine * s0
                            q1 = fma(of_sine, c1, q1) - of_cosine * s1
                            q2 = fma(of_sine, c2, q2) - of_cosine * s2
                            q3 = fma(of_sine, c3, q3) - of_cosine * s3
                        if weighted:
                            q0, q1 = q0 * splat(edge_weight, e, zero), q1 * splat(edge_weight, e + 1, zero)
                            q2, q3 = q2 * splat(edge_weight, e + 2, zero), q3 * splat(edge_weight, e + 3, zero)
                        if want_edge_phase:
                            store(grad_edge_phase, e * F + block, q0)
                            store(grad_edge_phase, (e + 1) * F + block, q1)
                            store(grad_edge_phase, (e + 2) * F + block, q2)
                            store(grad_edge_phase, (e + 3) * F + block, q3)
                        add_to(d_t, block, (q0 + q1) + (q2 + q3), zero)
                        # one after another: a sender may stand twice in a group
                        add_to(grad_sender, d0 + block - origin, q0, zero)
                        add_to(grad_sender, d1 + block - origin, q1, zero)
                        add_to(grad_sender, d2 + block - origin, q2, zero)
                        add_to(grad_sender, d3 + block - origin, q3, zero)
                        for r in range(1, R + 1):
                            i = r * F + block
                            own = load(t, i, zero)
                            d = fma(q0, load(sender, u0 + i, zero), q1 * load(sender, u1 + i, zero))
                            d = d + fma(q2, load(sender, u2 + i, zero), q3 * load(sender, u3 + i, zero))
                            add_to(d_t, i, d, zero)
                            add_to(grad_sender, d0 + i - origin, q0 * own, zero)
                            add_to(grad_sender, d1 + i - origin, q1 * own, zero)
                            add_to(grad_sender, d2 + i - origin, q2 * own, zero)
                            add_to(grad_sender, d3 + i - origin, q3 * own, zero)
                for e in range(full, last):
                    u = sender_row(senders, e, sender_stride, sender_start)
                    d = (np.int64(peek(senders, e)) - first_sender) * grad_sender_stride + grad_sender_start
                    for block in range(0, F, lanes):
                        angle = phase_of(t, block, sender, u, R, F, edge_phase, e, zero)
                        s = c = q = zero
                        for k in range(K):
                            s, c = next_band(angle, s, c, k, frequencies, doubling, scratch, lanes)
                            q = fma(load(g, 2 * k * F + block, zero), c, q)
                            q = q - load(g, (2 * k + 1) * F + block, zero) * s
                        if weighted:
                            q = q * splat(edge_weight, e, zero)
                        if want_edge_phase:
                            store(grad_edge_phase, e * F + block, q)
                        pass_on(q, t, d_t, sender, u, grad_sender, d, R, F, block, zero)
                begin = last
            if gating == SOFTMAX:
                for e in range(first, last):
                    u = sender_row(senders, e, sender_stride, sender_start)
                    for block in range(0, F, lanes):
                        q = phase_of(t, block, sender, u, R, F, edge_phase, e, zero)
                        store(phases, (e - first) * F + block, q)
                softmax_backward(
                    phases, 0, last - first, F, frequencies, doubling, gate, g_gated, edge_weight, first, alphas,
                    d_logits, psi, zero, lanes, scratch,
                )  # fmt: skip
            if not plain_sum and gating == NO_GATE:
                copy_padded(g_plain, 0, g, 0, size, size, 1, zero, lanes)
            for e in range(begin, last):
                u = sender_row(senders, e, sender_stride, sender_start)
                d = (np.int64(peek(senders, e)) - first_sender) * grad_sender_stride + grad_sender_start
                for block in range(0, F, lanes):
                    store(p, block, phase_of(t, block, sender, u, R, F, edge_phase, e, zero))
                encode(p, 0, F, frequencies, doubling, psi, zero, lanes, scratch)
                own_weight = peek(edge_weight, e) if weighted else _f(1)
                if gating != NO_GATE:
                    alpha = alphas[e - first] if gating == SOFTMAX else _f(0)
                    d_logit = d_logits[e - first] if gating == SOFTMAX else _f(0)
                    gated_gradient(
                        psi, gate, gating, alpha, d_logit, own_weight, g_plain, g_gated, g, d_gate, grad_edge_weight,
                        e, size, zero, lanes,
                    )  # fmt: skip
                elif want_edge_weight:
                    poke(grad_edge_weight, e, dot(g_plain, psi, size, zero, lanes))
                for block in range(0, F, lanes):
                    q = zero
                    for k in range(K):
                        sine, cosine = 2 * k * F + block, (2 * k + 1) * F + block
                        d_angle = load(g, sine, zero) * load(psi, cosine, zero)
                        d_angle = d_angle - load(g, cosine, zero) * load(psi, sine, zero)
                        if weighted and gating == NO_GATE:
                            d_angle = d_angle * fill(own_weight, zero)
                        q = fma(splat(frequencies, k, zero), d_angle, q)
                        if want_frequencies:
                            add_to(d_frequency, k * F + block, d_angle * load(p, block, zero), zero)
                    if want_edge_phase:
                        store(grad_edge_phase, e * F + block, q)
                    pass_on(q, t, d_t, sender, u, grad_sender, d, R, F, block, zero)
                if e % FLUSH == FLUSH - 1 or e == last - 1:
                    if want_frequencies:
                        flush(grad_frequencies, d_frequency, K * F)
                    if gating != NO_GATE:
                        flush(grad_gate, d_gate, size)
            for i in range(0, width, lanes):
                store(grad_receiver, v * grad_receiver_stride + i, load(d_t, i, zero))
        return source  # part of the cache key

    return backward
