"""The numba kernels of the factored phase: a range of receivers at a time, forward.

Every array is float32 and C-contiguous; the ``P`` projections are padded to ``F``, a multiple of ``lanes``, so that no
loop has a tail. A row of a table holds ``R + 1`` blocks of ``F``; ``receiver_stride`` and ``sender_stride`` are the
lengths of whole rows, ``sender_start`` is where the sender's blocks begin, so that one table can hold both sides.

Four edges of a receiver are worked on together: their sines are independent of each other, and the sums are read and
written once for all four. What needs more than the plain sum (gates, gradients of weights and frequencies) goes edge
by edge.
"""

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
    phase_of,
    prefetch_rows,
    sender_row,
)
from mshgnn.ops.backends.cpu.gate_kernels import NO_GATE, SOFTMAX, add_gated
from mshgnn.ops.backends.cpu.loops import add_scaled, clear, copy_trimmed, scale
from mshgnn.ops.backends.cpu.simd import fma, load, peek, splat, store, zeros
from mshgnn.ops.backends.cpu.sincos import encode, next_band

_f = np.float32
_FORWARD = f"i8({SHARED_SIGNATURE},f4[::1],f4[::1])"


def build_forward(lanes: int, known: Known | None, source: int):
    """The forward kernel that takes ``lanes`` projections at a time.

    With ``known`` it is the plain sum of that rank and so many doubling frequencies alone, for ``F = lanes``: loops are
    unrolled and cases dropped when it is compiled. All arguments are part of the key of numba's disk cache;
    ``source`` is a digest of the folder's files, so that a change never meets stale machine code.
    """

    fixed = known is not None
    rank, num_bands = known or (0, 0)

    @compile_now([_FORWARD], nogil=True, error_model="numpy", boundscheck=False)
    def forward(
        lo, hi, R, P, F, receiver, receiver_stride, sender, sender_stride, sender_start, rowptr, senders,
        edge_phase, edge_weight, frequencies, doubling, gate, gating, S, G,
    ):  # fmt: skip
        """``S_v`` and ``G_v`` of the receivers ``lo <= v < hi``."""
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
        plain = np.empty(size, np.float32)
        gated = np.empty(size, np.float32)
        t = np.empty(width, np.float32)
        p = np.empty(F, np.float32)
        weighted = edge_weight.size > 0
        for v in range(lo, hi):
            first, last = peek(rowptr, v), peek(rowptr, v + 1)
            clear(plain, 0, size, zero, lanes)
            if gating != NO_GATE:
                clear(gated, 0, size, zero, lanes)
            for i in range(0, width, lanes):
                store(t, i, load(receiver, v * receiver_stride + i, zero))
            begin = first
            if gating == NO_GATE:
                full = last - (last - first) % GROUP
                for e in range(first, full, GROUP):
                    u0 = sender_row(senders, e, sender_stride, sender_start)
                    u1 = sender_row(senders, e + 1, sender_stride, sender_start)
                    u2 = sender_row(senders, e + 2, sender_stride, sender_start)
                    u3 = sender_row(senders, e + 3, sender_stride, sender_start)
                    prefetch_rows(sender, senders, e + AHEAD, 0, sender_stride, sender_start, width)
                    for block in range(0, F, lanes):
                        p0 = phase_of(t, block, sender, u0, R, F, edge_phase, e, zero)
                        p1 = phase_of(t, block, sender, u1, R, F, edge_phase, e + 1, zero)
                        p2 = phase_of(t, block, sender, u2, R, F, edge_phase, e + 2, zero)
                        p3 = phase_of(t, block, sender, u3, R, F, edge_phase, e + 3, zero)
                        s0 = c0 = s1 = c1 = s2 = c2 = s3 = c3 = zero
                        for k in range(K):
                            s0, c0 = next_band(p0, s0, c0, k, frequencies, doubling, scratch, lanes)
                            s1, c1 = next_band(p1, s1, c1, k, frequencies, doubling, scratch, lanes)
                            s2, c2 = next_band(p2, s2, c2, k, frequencies, doubling, scratch, lanes)
                            s3, c3 = next_band(p3, s3, c3, k, frequencies, doubling, scratch, lanes)
                            sine, cosine = 2 * k * F + block, (2 * k + 1) * F + block
                            if weighted:
                                w0, w1 = splat(edge_weight, e, zero), splat(edge_weight, e + 1, zero)
                                w2, w3 = splat(edge_weight, e + 2, zero), splat(edge_weight, e + 3, zero)
                                add_to(plain, sine, fma(w0, s0, w1 * s1) + fma(w2, s2, w3 * s3), zero)
                                add_to(plain, cosine, fma(w0, c0, w1 * c1) + fma(w2, c2, w3 * c3), zero)
                            else:
                                add_to(plain, sine, (s0 + s1) + (s2 + s3), zero)
                                add_to(plain, cosine, (c0 + c1) + (c2 + c3), zero)
                for e in range(full, last):
                    u = sender_row(senders, e, sender_stride, sender_start)
                    for block in range(0, F, lanes):
                        q = phase_of(t, block, sender, u, R, F, edge_phase, e, zero)
                        s = c = zero
                        for k in range(K):
                            s, c = next_band(q, s, c, k, frequencies, doubling, scratch, lanes)
                            sine, cosine = 2 * k * F + block, (2 * k + 1) * F + block
                            if weighted:
                                own = splat(edge_weight, e, zero)
                                add_to(plain, sine, own * s, zero)
                                add_to(plain, cosine, own * c, zero)
                            else:
                                add_to(plain, sine, s, zero)
                                add_to(plain, cosine, c, zero)
                begin = last
            top = _f(-np.inf)
            weight_sum = _f(0)
            for e in range(begin, last):
                u = sender_row(senders, e, sender_stride, sender_start)
                for block in range(0, F, lanes):
                    store(p, block, phase_of(t, block, sender, u, R, F, edge_phase, e, zero))
                encode(p, 0, F, frequencies, doubling, psi, zero, lanes, scratch)
                own_weight = peek(edge_weight, e) if weighted else _f(1)
                add_scaled(plain, 0, own_weight, psi, size, zero, lanes)
                top, weight_sum = add_gated(gated, psi, gate, gating, own_weight, top, weight_sum, size, zero, lanes)
            if gating == SOFTMAX and first < last:
                scale(gated, _f(1.0) / weight_sum, size, zero, lanes)
            copy_trimmed(plain, 0, S, v * bands * P, P, F, bands, zero, lanes)
            if gating != NO_GATE:
                copy_trimmed(gated, 0, G, v * bands * P, P, F, bands, zero, lanes)
        return source  # part of the cache key

    return forward
