"""The numba kernels: one tile of receivers at a time, forward and backward.

Every array is float32 and C-contiguous. The number of projections is padded to ``F``, a multiple of the lanes of a
register, and the sender width to ``D``, a multiple of ``WIDE``, so that no loop has a tail. A receiver's projection has
two layouts: ``by_feature[j, f]`` (as the generator makes it: one row serves all projections of feature ``j``) for the
phases, and ``by_projection[f, j]`` (the order of ``W_f``) for the gradients.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

from mshgnn.ops.lanes import (
    MAGIC,
    any_beyond,
    fill,
    fma,
    load,
    negate_where_two,
    peek,
    poke,
    prefetch,
    splat,
    store,
    total,
    transpose,
    where_odd,
    zeros,
)

GROUP = 4  # edges of one receiver that share a load of its projection
WIDE = 16  # lanes along the sender width
AHEAD = 2 * GROUP  # edges between the request for a sender's row and its use
FLUSH = 64  # edges after which float32 sums over all edges go to float64
NO_GATE, SIGMOID, SOFTMAX = 0, 1, 2

_f = np.float32
_PER_RADIAN = _f(2 / math.pi)
# pi / 2 in three parts: with fused multiply-add the remainder is exact to the last bit up to _REDUCED_EXACTLY.
_HALF_PI = (_f(1.5707963705062866), _f(-4.371138828673793e-08), _f(-1.7151245100058819e-15))
_REDUCED_EXACTLY = _f(1e6)
# sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 Q(r^2) for |r| <= pi / 4, least largest error (4e-9)
_SIN = (_f(-0.16666655242443085), _f(0.00833216030150652), _f(-0.00019515218446031213))
_COS = (_f(0.04166664555668831), _f(-0.0013887315290048718), _f(2.4433082217001356e-05))

jit = njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)


@jit
def sincos(x):
    """Sine and cosine of every lane, ``|x| <= 1e6``."""
    integer = fma(x, fill(_PER_RADIAN, x), fill(_f(MAGIC), x))
    turns = integer - fill(_f(MAGIC), x)
    r = fma(turns, fill(-_HALF_PI[0], x), x)
    r = fma(turns, fill(-_HALF_PI[1], x), r)
    r = fma(turns, fill(-_HALF_PI[2], x), r)
    z = r * r
    sine = fma(fma(fill(_SIN[2], x), z, fill(_SIN[1], x)), z, fill(_SIN[0], x))
    sine = fma(sine * z, r, r)
    cosine = fma(fma(fill(_COS[2], x), z, fill(_COS[1], x)), z, fill(_COS[0], x))
    cosine = fma(cosine * z, z, fma(fill(_f(-0.5), x), z, fill(_f(1.0), x)))
    one = fill(_f(1.0), x)
    # quadrant n: sin x = (sin, cos, -sin, -cos) r, cos x is a quarter turn ahead
    return (
        negate_where_two(where_odd(integer, cosine, sine), integer),
        negate_where_two(where_odd(integer, sine, cosine), integer + one),
    )


@jit
def sincos_anywhere(x, scratch, lanes):
    """Like :func:`sincos` for phases of any size (lane by lane in float64: rare)."""
    if not any_beyond(x, _REDUCED_EXACTLY):
        return sincos(x)
    store(scratch, 0, x)
    for i in range(lanes):
        angle = np.float64(scratch[i])
        scratch[i] = math.sin(angle)
        scratch[lanes + i] = math.cos(angle)
    return load(scratch, 0, x), load(scratch, lanes, x)


@jit
def clear(target, offset, size, zero, lanes):
    """``size`` zeros."""
    for i in range(0, size, lanes):
        store(target, offset + i, zero)


@jit
def copy_blocks(source, source_offset, source_width, target, target_offset, target_width, blocks, width):
    """The first ``width`` numbers of every block of the source to the blocks of the target: pads or trims."""
    for k in range(blocks):
        a, b = source_offset + k * source_width, target_offset + k * target_width
        for f in range(width):
            poke(target, b + f, peek(source, a + f))


@jit
def flush(target, values, size):
    """Add float32 sums to float64 sums and begin again."""
    for i in range(size):
        poke(target, i, peek(target, i) + np.float64(peek(values, i)))
        poke(values, i, _f(0))


@jit
def prefetch_rows(x, senders, begin, origin, D):
    """Ask for the rows of one group of senders, if there is such a group."""
    if begin + GROUP <= senders.size:
        for e in range(begin, begin + GROUP):
            row = (np.int64(peek(senders, e)) - origin) * D
            for j in range(0, D, WIDE):  # a line of cache each
                prefetch(x, row + j)


@jit
def phases(by_feature, row, senders, x, D, F, first, last, start, p, zero, lanes):
    """``p[e] = start + sum_j by_feature[j] x[u_e, j]``, a group of edges at a time.

    Even and odd features have their own sums: eight chains keep both multipliers busy. A last short group repeats its
    last edge; the rows of ``p`` past the end are not used.
    """
    for block in range(0, F, lanes):
        begin = load(start, block, zero)
        for e in range(first, last, GROUP):
            u0 = np.int64(peek(senders, e)) * D
            u1 = np.int64(peek(senders, min(e + 1, last - 1))) * D
            u2 = np.int64(peek(senders, min(e + 2, last - 1))) * D
            u3 = np.int64(peek(senders, min(e + 3, last - 1))) * D
            a0 = a1 = a2 = a3 = begin
            b0 = b1 = b2 = b3 = zero
            if block == 0:
                prefetch_rows(x, senders, e + AHEAD, 0, D)
            place = row + block
            for j in range(0, D, 2):
                even = load(by_feature, place, zero)
                odd = load(by_feature, place + F, zero)
                a0 = fma(even, splat(x, u0 + j, zero), a0)
                a1 = fma(even, splat(x, u1 + j, zero), a1)
                a2 = fma(even, splat(x, u2 + j, zero), a2)
                a3 = fma(even, splat(x, u3 + j, zero), a3)
                b0 = fma(odd, splat(x, u0 + j + 1, zero), b0)
                b1 = fma(odd, splat(x, u1 + j + 1, zero), b1)
                b2 = fma(odd, splat(x, u2 + j + 1, zero), b2)
                b3 = fma(odd, splat(x, u3 + j + 1, zero), b3)
                place += 2 * F
            place = (e - first) * F + block
            store(p, place, a0 + b0)
            store(p, place + F, a1 + b1)
            store(p, place + 2 * F, a2 + b2)
            store(p, place + 3 * F, a3 + b3)


@jit
def encode(p, row, F, frequencies, doubling, psi, zero, lanes, scratch):
    """``psi = [sin(w_1 p) | cos(w_1 p) | ...]`` of one edge, ``[2K, F]``; ``doubling``: ``w_k = 2 w_(k-1)``."""
    one, two = fill(_f(1.0), zero), fill(_f(2.0), zero)
    for block in range(0, F, lanes):
        angle = load(p, row + block, zero)
        s = c = zero
        for k in range(frequencies.size):
            if k == 0 or not doubling:
                s, c = sincos_anywhere(angle * splat(frequencies, k, zero), scratch, lanes)
            else:
                s, c = two * s * c, one - two * s * s
            store(psi, 2 * k * F + block, s)
            store(psi, (2 * k + 1) * F + block, c)


@jit
def dot(a, b, size, zero, lanes):
    """The inner product of two padded vectors."""
    result = zero
    for i in range(0, size, lanes):
        result = fma(load(a, i, zero), load(b, i, zero), result)
    return total(result)


@jit
def add_scaled(target, offset, factor, values, size, zero, lanes):
    """``target += factor * values``."""
    factors = fill(factor, zero)
    for i in range(0, size, lanes):
        store(target, offset + i, fma(factors, load(values, i, zero), load(target, offset + i, zero)))


@jit
def scale(target, factor, size, zero, lanes):
    """``target *= factor``."""
    for i in range(0, size, lanes):
        store(target, i, load(target, i, zero) * fill(factor, zero))


@jit
def add_into(target, target_offset, values, offset, size, zero, lanes):
    """``target += values``."""
    for i in range(0, size, lanes):
        place = target_offset + i
        store(target, place, load(target, place, zero) + load(values, offset + i, zero))


@jit
def receiver_phases(v, row, first, last, tile, x, senders, phase, edge_phase, width, D, F, start, p, zero, lanes):
    """Phases of all edges of receiver ``v``, whose projection lies at ``row`` of the tile."""
    if phase.size:
        copy_blocks(phase, v * width, width, start, 0, F, 1, width)
    phases(tile, row, senders, x, D, F, first, last, start, p, zero, lanes)
    if edge_phase.size:
        for e in range(first, last):
            for f in range(width):
                place = (e - first) * F + f
                poke(p, place, peek(p, place) + peek(edge_phase, e * width + f))


@jit
def sigmoid(logit):
    """The logistic function without overflow."""
    if logit >= 0:
        return _f(1.0) / (_f(1.0) + math.exp(-logit))
    power = math.exp(logit)
    return power / (_f(1.0) + power)


_SHARED = "i8,i8,i8,f4[::1],f4[::1],f4[::1],f4[::1],i8[::1],i4[::1],f4[::1],f4[::1],b1,f4[::1],i8,i8,i8,i8,f4[::1]"
_FORWARD = f"i8({_SHARED},f4[::1],f4[::1])"
_BACKWARD = f"i8({_SHARED},b1,f4[::1],f4[::1],f4[::1],i8,f4[::1],f8[::1],f4[::1],f4[::1],f8[::1],f8[::1])"


def build_kernels(lanes: int, source: int):
    """Forward and backward kernels for registers of ``lanes`` numbers.

    Both arguments are part of the key of numba's disk cache; ``source`` is a digest of this file and ``lanes.py``, so
    that a change of either never meets stale machine code.
    """

    @njit(_FORWARD, nogil=True, error_model="numpy", boundscheck=False, cache=True)
    def forward(
        lo, hi, origin, tile, bias, x, phase, rowptr, senders, edge_phase, frequencies, doubling, gate, gating, width,
        D, F, p, S, G,
    ):  # fmt: skip
        """``S_v`` and ``G_v`` of the receivers ``lo <= v < hi``.

        ``tile`` holds ``W_f h_v`` by feature, from receiver ``origin`` on; on return ``W_f h_v + b_f``.
        """
        zero, wide = zeros(lanes), zeros(WIDE)
        bands = 2 * frequencies.size
        size = bands * F
        start = np.zeros(F, np.float32)
        scratch = np.empty(2 * lanes, np.float32)
        psi = np.empty(size, np.float32)
        plain = np.empty(size, np.float32)
        gated = np.empty(size, np.float32)
        for v in range(lo, hi):
            first, last = peek(rowptr, v), peek(rowptr, v + 1)
            clear(plain, 0, size, zero, lanes)
            clear(gated, 0, size, zero, lanes)
            if first < last:
                row = (v - origin) * D * F
                add_into(tile, row, bias, 0, D * F, wide, WIDE)
                receiver_phases(
                    v, row, first, last, tile, x, senders, phase, edge_phase, width, D, F, start, p, zero, lanes
                )
                top = _f(-np.inf)
                weight_sum = _f(0)
                for e in range(last - first):
                    encode(p, e * F, F, frequencies, doubling, psi, zero, lanes, scratch)
                    add_into(plain, 0, psi, 0, size, zero, lanes)
                    if gating != NO_GATE:
                        logit = dot(gate, psi, size, zero, lanes)
                        if gating == SIGMOID:
                            alpha = sigmoid(logit)
                        else:  # softmax with a running maximum
                            if logit > top:
                                shrink = math.exp(top - logit)
                                weight_sum *= shrink
                                scale(gated, shrink, size, zero, lanes)
                                top = logit
                            alpha = math.exp(logit - top)
                            weight_sum += alpha
                        add_scaled(gated, 0, alpha, psi, size, zero, lanes)
                if gating == SOFTMAX:
                    scale(gated, _f(1.0) / weight_sum, size, zero, lanes)
            copy_blocks(plain, 0, F, S, v * bands * width, width, bands, width)
            if gating != NO_GATE:
                copy_blocks(gated, 0, F, G, v * bands * width, width, bands, width)
        return source  # part of the cache key

    @njit(_BACKWARD, nogil=True, error_model="numpy", boundscheck=False, cache=True)
    def backward(
        lo, hi, origin, tile, bias, x, phase, rowptr, senders, edge_phase, frequencies, doubling, gate, gating, width,
        D, F, p, biased, grad_tile, grad_S, grad_G, first_sender, grad_x, grad_bias, grad_phase, grad_edge_phase,
        grad_frequencies, grad_gate,
    ):  # fmt: skip
        """Gradients of the receivers ``lo <= v < hi``; on return ``grad_tile`` holds ``dF_v`` by projection.

        ``grad_tile`` may be ``tile`` itself. ``biased``: the tile comes from a forward pass, with ``b_f`` added.
        ``grad_x`` starts at sender ``first_sender``. ``grad_bias``, ``grad_frequencies`` and ``grad_gate`` are sums
        over the receivers of a chunk, kept in float64.
        """
        zero, wide = zeros(lanes), zeros(WIDE)
        K = frequencies.size
        bands = 2 * K
        size = bands * F
        start = np.zeros(F, np.float32)
        scratch = np.empty(2 * lanes, np.float32)
        psi = np.empty(size, np.float32)
        g_plain = np.zeros(size, np.float32)
        g_gated = np.zeros(size, np.float32)
        g = np.zeros(size, np.float32)
        by_projection = np.empty(F * D, np.float32)
        tile_bias = np.zeros(F * D, np.float32)
        d_frequency = np.zeros(K * F, np.float32)
        d_gate = np.zeros(size, np.float32)
        d_phase = np.zeros(F, np.float32)
        want_frequencies = grad_frequencies.size > 0
        alphas = np.empty(0, np.float32)
        d_logits = np.empty(0, np.float32)
        if gating == SOFTMAX:
            alphas = np.empty(p.size // F, np.float32)
            d_logits = np.empty(p.size // F, np.float32)
        for v in range(lo, hi):
            first, last = peek(rowptr, v), peek(rowptr, v + 1)
            row, target = (v - origin) * D * F, (v - lo) * D * F
            if first == last:
                clear(grad_tile, target, D * F, wide, WIDE)
                if grad_phase.size:
                    clear(d_phase, 0, F, zero, lanes)
                    copy_blocks(d_phase, 0, F, grad_phase, v * width, width, 1, width)
                continue
            if not biased:
                add_into(tile, row, bias, 0, D * F, wide, WIDE)
            receiver_phases(
                v, row, first, last, tile, x, senders, phase, edge_phase, width, D, F, start, p, zero, lanes
            )
            for block in range(0, F, lanes):
                for j in range(0, D, lanes):
                    transpose(tile, row + j * F + block, F, by_projection, block * D + j, D, zero)
            copy_blocks(grad_S, v * bands * width, width, g_plain, 0, F, bands, width)
            if gating != NO_GATE:
                copy_blocks(grad_G, v * bands * width, width, g_gated, 0, F, bands, width)
            if gating == SOFTMAX:
                softmax_backward(
                    p,
                    last - first,
                    F,
                    frequencies,
                    doubling,
                    gate,
                    g_gated,
                    alphas,
                    d_logits,
                    psi,
                    zero,
                    lanes,
                    scratch,
                )
            clear(d_phase, 0, F, zero, lanes)
            if gating == NO_GATE:
                copy_blocks(g_plain, 0, size, g, 0, size, 1, size)
            for e in range(last - first):
                encode(p, e * F, F, frequencies, doubling, psi, zero, lanes, scratch)
                if gating != NO_GATE:
                    if gating == SIGMOID:
                        alpha = sigmoid(dot(gate, psi, size, zero, lanes))
                        d_logit = dot(g_gated, psi, size, zero, lanes) * alpha * (_f(1.0) - alpha)
                    else:
                        alpha = alphas[e]
                        d_logit = d_logits[e]
                    both, slope = fill(alpha, zero), fill(d_logit, zero)
                    for i in range(0, size, lanes):
                        value = fma(both, load(g_gated, i, zero), load(g_plain, i, zero))
                        store(g, i, fma(slope, load(gate, i, zero), value))
                    add_scaled(d_gate, 0, d_logit, psi, size, zero, lanes)
                for block in range(0, F, lanes):
                    d_p = zero
                    for k in range(K):
                        sine, cosine = 2 * k * F + block, (2 * k + 1) * F + block
                        d_angle = load(g, sine, zero) * load(psi, cosine, zero)
                        d_angle = d_angle - load(g, cosine, zero) * load(psi, sine, zero)
                        d_p = fma(splat(frequencies, k, zero), d_angle, d_p)
                        if want_frequencies:
                            place = k * F + block
                            value = load(d_frequency, place, zero)
                            store(d_frequency, place, fma(d_angle, load(p, e * F + block, zero), value))
                    store(p, e * F + block, d_p)  # the phase itself is not needed any more
                add_into(d_phase, 0, p, e * F, F, zero, lanes)
                if e % FLUSH == FLUSH - 1 or e == last - first - 1:
                    if want_frequencies:
                        flush(grad_frequencies, d_frequency, K * F)
                    if gating != NO_GATE:
                        flush(grad_gate, d_gate, size)
            if grad_edge_phase.size:
                copy_blocks(p, 0, F, grad_edge_phase, first * width, width, last - first, width)
            if grad_phase.size:
                copy_blocks(d_phase, 0, F, grad_phase, v * width, width, 1, width)
            clear(p, (last - first) * F, -(last - first) % GROUP * F, zero, lanes)  # the last group may be short
            outer_products(
                p, by_projection, x, senders, first, last, width, D, F, grad_tile, target, tile_bias, grad_x,
                first_sender, wide, WIDE,
            )  # fmt: skip
        flush(grad_bias, tile_bias, D * F)
        return source  # part of the cache key

    return forward, backward


@jit
def softmax_backward(p, degree, F, frequencies, doubling, gate, g_gated, alphas, d_logits, psi, zero, lanes, scratch):
    """``alpha_e`` and ``dl_e = alpha_e (t_e - sum alpha t)`` with ``t_e = g . psi_e`` for one receiver."""
    size = 2 * frequencies.size * F
    top = _f(-np.inf)
    for e in range(degree):
        encode(p, e * F, F, frequencies, doubling, psi, zero, lanes, scratch)
        alphas[e] = dot(gate, psi, size, zero, lanes)
        d_logits[e] = dot(g_gated, psi, size, zero, lanes)
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
def outer_products(
    d_p,
    by_projection,
    x,
    senders,
    first,
    last,
    width,
    D,
    F,
    d_projection,
    row,
    d_bias,
    grad_x,
    first_sender,
    zero,
    lanes,
):
    """``dF_v = sum_e dp_e h_u^T``, added to ``d_bias`` too, and ``dh_u += F_v^T dp_e``, a group of edges at a time."""
    clear(d_projection, row + width * D, (F - width) * D, zero, lanes)
    for e in range(first, last, GROUP):
        u0 = np.int64(peek(senders, e)) * D
        u1 = np.int64(peek(senders, min(e + 1, last - 1))) * D
        u2 = np.int64(peek(senders, min(e + 2, last - 1))) * D
        u3 = np.int64(peek(senders, min(e + 3, last - 1))) * D
        base = (e - first) * F
        begins, ends = e == first, e + GROUP >= last
        if not ends:
            prefetch_rows(grad_x, senders, e + GROUP, first_sender, D)
        for j in range(0, D, lanes):
            h0, h1 = load(x, u0 + j, zero), load(x, u1 + j, zero)
            h2, h3 = load(x, u2 + j, zero), load(x, u3 + j, zero)
            a0 = a1 = a2 = a3 = zero
            for f in range(width):
                projection = load(by_projection, f * D + j, zero)
                q0 = splat(d_p, base + f, zero)
                q1 = splat(d_p, base + F + f, zero)
                q2 = splat(d_p, base + 2 * F + f, zero)
                q3 = splat(d_p, base + 3 * F + f, zero)
                a0, a1 = fma(q0, projection, a0), fma(q1, projection, a1)
                a2, a3 = fma(q2, projection, a2), fma(q3, projection, a3)
                place = row + f * D + j
                gradient = zero if begins else load(d_projection, place, zero)
                gradient = fma(q1, h1, fma(q0, h0, gradient))
                gradient = fma(q3, h3, fma(q2, h2, gradient))
                store(d_projection, place, gradient)
                if ends:
                    store(d_bias, f * D + j, load(d_bias, f * D + j, zero) + gradient)
            # one after another: a sender may stand twice in a group
            offset = j - first_sender * D
            store(grad_x, u0 + offset, load(grad_x, u0 + offset, zero) + a0)
            store(grad_x, u1 + offset, load(grad_x, u1 + offset, zero) + a1)
            store(grad_x, u2 + offset, load(grad_x, u2 + offset, zero) + a2)
            store(grad_x, u3 + offset, load(grad_x, u3 + offset, zero) + a3)
