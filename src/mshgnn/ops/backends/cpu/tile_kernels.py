"""The numba kernels: one tile of receivers at a time, forward and backward.

Every array is float32 and C-contiguous. The ``P`` projections are padded to ``F``, a multiple of ``lanes``, and
the sender width to ``D``, a multiple of the largest register, so that no loop has a tail. A receiver's projection has
two layouts: ``by_feature[j, f]`` (as the generator makes it: one row serves all projections of feature ``j``) for the
phases, and ``by_projection[f, j]`` (the order of ``W_f``) for the gradients.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from mshgnn.compiled import compile_now
from mshgnn.ops.backends.cpu.edge_kernels import GROUP, outer_products, receiver_phases
from mshgnn.ops.backends.cpu.gate_kernels import NO_GATE, SOFTMAX, add_gated, gated_gradient, softmax_backward
from mshgnn.ops.backends.cpu.loops import FLUSH, add_into, add_scaled, clear, copy_blocks, dot, flush, scale
from mshgnn.ops.backends.cpu.simd import fill, fma, load, peek, poke, splat, store, transpose, zeros
from mshgnn.ops.backends.cpu.sincos import encode

_f = np.float32


_SHARED = (
    "i8,i8,i8,f4[::1],f4[::1],f4[::1],f4[::1],i8[::1],i4[::1],f4[::1],f4[::1],f4[::1],b1,f4[::1],i8,i8,i8,i8,f4[::1],b1"
)
_FORWARD = f"i8({_SHARED},f4[::1],f4[::1])"
_BACKWARD = f"i8({_SHARED},f4[::1],f4[::1],f4[::1],i8,f4[::1],f8[::1],f4[::1],f4[::1],f4[::1],f8[::1],f8[::1])"


def build_kernels(lanes: int, register: int, source: int):
    """Forward and backward kernels that take ``lanes`` projections at a time, for registers of ``register`` numbers.

    All arguments are part of the key of numba's disk cache; ``source`` is a digest of this file and of what it is
    built from, so that a change never meets stale machine code.
    """

    @compile_now([_FORWARD], nogil=True, error_model="numpy", boundscheck=False)
    def forward(
        lo, hi, origin, tile, bias, x, phase, rowptr, senders, edge_phase, edge_weight, frequencies, doubling, gate,
        gating, P, D, F, p, kept, S, G,
    ):  # fmt: skip
        """``S_v`` and ``G_v`` of the receivers ``lo <= v < hi``.

        ``tile`` holds ``W_f h_v`` by feature, from receiver ``origin`` on; on return ``W_f h_v + b_f``. ``p`` has room
        for the phases of one receiver, or with ``kept`` for those of all edges, which stay there for ``backward``.
        """
        zero, wide = zeros(lanes), zeros(register)
        bands = 2 * frequencies.size
        size = bands * F
        start = np.zeros(F, np.float32)
        scratch = np.empty(2 * lanes, np.float32)
        psi = np.empty(size, np.float32)
        plain = np.empty(size, np.float32)
        gated = np.empty(size, np.float32)
        tail = np.empty(GROUP * F, np.float32)
        weighted = edge_weight.size > 0
        for v in range(lo, hi):
            first, last = peek(rowptr, v), peek(rowptr, v + 1)
            clear(plain, 0, size, zero, lanes)
            if gating != NO_GATE:
                clear(gated, 0, size, zero, lanes)
            if first < last:
                row = (v - origin) * D * F
                base = first * F if kept else 0
                add_into(tile, row, bias, 0, D * F, wide, register)
                receiver_phases(
                    v, row, first, last, tile, x, senders, phase, edge_phase, P, D, F, start, p, base, tail, zero,
                    lanes, lanes > register,
                )  # fmt: skip
                top = _f(-np.inf)
                weight_sum = _f(0)
                for e in range(last - first):
                    encode(p, base + e * F, F, frequencies, doubling, psi, zero, lanes, scratch)
                    own_weight = peek(edge_weight, first + e) if weighted else _f(1)
                    if weighted:
                        add_scaled(plain, 0, own_weight, psi, size, zero, lanes)
                    else:
                        add_into(plain, 0, psi, 0, size, zero, lanes)
                    if gating != NO_GATE:
                        top, weight_sum = add_gated(
                            gated, psi, gate, gating, own_weight, top, weight_sum, size, zero, lanes
                        )
                if gating == SOFTMAX:
                    scale(gated, _f(1.0) / weight_sum, size, zero, lanes)
            copy_blocks(plain, 0, F, S, v * bands * P, P, bands, P)
            if gating != NO_GATE:
                copy_blocks(gated, 0, F, G, v * bands * P, P, bands, P)
        return source  # part of the cache key

    @compile_now([_BACKWARD], nogil=True, error_model="numpy", boundscheck=False)
    def backward(
        lo, hi, origin, tile, bias, x, phase, rowptr, senders, edge_phase, edge_weight, frequencies, doubling, gate,
        gating, P, D, F, p, kept, grad_tile, grad_S, grad_G, first_sender, grad_x, grad_bias, grad_phase,
        grad_edge_phase, grad_edge_weight, grad_frequencies, grad_gate,
    ):  # fmt: skip
        """Gradients of the receivers ``lo <= v < hi``; on return ``grad_tile`` holds ``dF_v`` by projection.

        ``grad_tile`` may be ``tile`` itself. ``kept``: ``tile`` and ``p`` come from a forward pass; ``p`` is used up.
        ``grad_x`` starts at sender ``first_sender``. ``grad_bias``, ``grad_frequencies`` and ``grad_gate`` are sums
        over the receivers of a chunk, kept in float64.
        """
        zero, wide = zeros(lanes), zeros(register)
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
        tail = np.empty(GROUP * F, np.float32)
        weighted = edge_weight.size > 0
        want_edge_weight = grad_edge_weight.size > 0
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
                clear(grad_tile, target, D * F, wide, register)
                if grad_phase.size:
                    clear(d_phase, 0, F, zero, lanes)
                    copy_blocks(d_phase, 0, F, grad_phase, v * P, P, 1, P)
                continue
            base = first * F if kept else 0
            if not kept:
                add_into(tile, row, bias, 0, D * F, wide, register)
                receiver_phases(
                    v, row, first, last, tile, x, senders, phase, edge_phase, P, D, F, start, p, base, tail, zero,
                    lanes, lanes > register,
                )  # fmt: skip
            for block in range(0, F, lanes):
                for j in range(0, D, lanes):
                    transpose(tile, row + j * F + block, F, by_projection, block * D + j, D, zero)
            copy_blocks(grad_S, v * bands * P, P, g_plain, 0, F, bands, P)
            if gating != NO_GATE:
                copy_blocks(grad_G, v * bands * P, P, g_gated, 0, F, bands, P)
            if gating == SOFTMAX:
                softmax_backward(
                    p, base, last - first, F, frequencies, doubling, gate, g_gated, edge_weight, first, alphas,
                    d_logits, psi, zero, lanes, scratch,
                )  # fmt: skip
            clear(d_phase, 0, F, zero, lanes)
            if gating == NO_GATE:
                copy_blocks(g_plain, 0, size, g, 0, size, 1, size)
            for e in range(last - first):
                place = base + e * F
                encode(p, place, F, frequencies, doubling, psi, zero, lanes, scratch)
                own_weight = peek(edge_weight, first + e) if weighted else _f(1)
                if gating != NO_GATE:
                    alpha = alphas[e] if gating == SOFTMAX else _f(0)
                    d_logit = d_logits[e] if gating == SOFTMAX else _f(0)
                    gated_gradient(
                        psi, gate, gating, alpha, d_logit, own_weight, g_plain, g_gated, g, d_gate, grad_edge_weight,
                        first + e, size, zero, lanes,
                    )  # fmt: skip
                elif want_edge_weight:
                    poke(grad_edge_weight, first + e, dot(g_plain, psi, size, zero, lanes))
                for block in range(0, F, lanes):
                    d_p = zero
                    for k in range(K):
                        sine, cosine = 2 * k * F + block, (2 * k + 1) * F + block
                        d_angle = load(g, sine, zero) * load(psi, cosine, zero)
                        d_angle = d_angle - load(g, cosine, zero) * load(psi, sine, zero)
                        if weighted and gating == NO_GATE:
                            d_angle = d_angle * fill(own_weight, zero)
                        d_p = fma(splat(frequencies, k, zero), d_angle, d_p)
                        if want_frequencies:
                            value = load(d_frequency, k * F + block, zero)
                            value = fma(d_angle, load(p, place + block, zero), value)
                            store(d_frequency, k * F + block, value)
                    store(p, place + block, d_p)  # the phase itself is not needed any more
                add_into(d_phase, 0, p, place, F, zero, lanes)
                if e % FLUSH == FLUSH - 1 or e == last - first - 1:
                    if want_frequencies:
                        flush(grad_frequencies, d_frequency, K * F)
                    if gating != NO_GATE:
                        flush(grad_gate, d_gate, size)
            if grad_edge_phase.size:
                copy_blocks(p, base, F, grad_edge_phase, first * P, P, last - first, P)
            if grad_phase.size:
                copy_blocks(d_phase, 0, F, grad_phase, v * P, P, 1, P)
            outer_products(
                p, base, tail, by_projection, x, senders, first, last, P, D, F, grad_tile, target, tile_bias,
                grad_x, first_sender, wide, register,
            )  # fmt: skip
        flush(grad_bias, tile_bias, D * F)
        return source  # part of the cache key

    return forward, backward
