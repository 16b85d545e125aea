"""What a receiver does with its edges, a few at a time: phases forward, outer products backward.

Four edges share every load of the receiver's projection. The last ones of a receiver, up to three, go through a buffer
``tail`` of four rows, as a pair where they are two at most: molecules have hardly more edges. The ``P`` projections
are padded to ``F``.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from mshgnn.ops.backends.cpu.loops import clear, copy_blocks, jit
from mshgnn.ops.backends.cpu.simd import fma, load, peek, poke, prefetch, splat, store

GROUP = 4  # edges of one receiver that share a load of its projection
CACHE_LINE = 16  # numbers
AHEAD = 2 * GROUP  # edges between the request for a sender's row and its use


@jit
def sender_row(senders, e, last, D):
    """Where the row of the sender of edge ``e`` begins; past the last edge, that of the last."""
    return np.int64(peek(senders, min(e, last - 1))) * D


@jit
def prefetch_rows(x, senders, begin, origin, D):
    """Ask for the rows of one group of senders, if there is such a group."""
    if begin + GROUP <= senders.size:
        for e in range(begin, begin + GROUP):
            row = (np.int64(peek(senders, e)) - origin) * D
            for j in range(0, D, CACHE_LINE):
                prefetch(x, row + j)


@jit
def phases_of_four(by_feature, place, F, x, u0, u1, u2, u3, D, start, p, target, zero, wider):
    """``p[e] = start + sum_j by_feature[j] x[u_e, j]`` of four edges, for as many projections as ``zero`` has lanes.

    Eight registers of sums keep both multipliers busy, and more do not fit beside the rest: four vectors ``wider`` than
    a register are as many, else even and odd features have their own.
    """
    a0 = a1 = a2 = a3 = start
    b0 = b1 = b2 = b3 = zero
    if wider:
        for j in range(D):
            column = load(by_feature, place, zero)
            a0, a1 = fma(column, splat(x, u0 + j, zero), a0), fma(column, splat(x, u1 + j, zero), a1)
            a2, a3 = fma(column, splat(x, u2 + j, zero), a2), fma(column, splat(x, u3 + j, zero), a3)
            place += F
    else:
        for j in range(0, D, 2):
            even, odd = load(by_feature, place, zero), load(by_feature, place + F, zero)
            a0, a1 = fma(even, splat(x, u0 + j, zero), a0), fma(even, splat(x, u1 + j, zero), a1)
            a2, a3 = fma(even, splat(x, u2 + j, zero), a2), fma(even, splat(x, u3 + j, zero), a3)
            b0, b1 = fma(odd, splat(x, u0 + j + 1, zero), b0), fma(odd, splat(x, u1 + j + 1, zero), b1)
            b2, b3 = fma(odd, splat(x, u2 + j + 1, zero), b2), fma(odd, splat(x, u3 + j + 1, zero), b3)
            place += 2 * F
    store(p, target, a0 + b0)
    store(p, target + F, a1 + b1)
    store(p, target + 2 * F, a2 + b2)
    store(p, target + 3 * F, a3 + b3)


@jit
def phases_of_two(by_feature, place, F, x, u0, u1, D, start, p, target, zero, wider):
    """The same of two edges, every second or every fourth feature in the same sum."""
    a0 = a1 = start
    b0 = b1 = c0 = c1 = d0 = d1 = zero
    if wider:
        for j in range(0, D, 2):
            even, odd = load(by_feature, place, zero), load(by_feature, place + F, zero)
            a0, a1 = fma(even, splat(x, u0 + j, zero), a0), fma(even, splat(x, u1 + j, zero), a1)
            b0, b1 = fma(odd, splat(x, u0 + j + 1, zero), b0), fma(odd, splat(x, u1 + j + 1, zero), b1)
            place += 2 * F
    else:
        for j in range(0, D, 4):
            first, second = load(by_feature, place, zero), load(by_feature, place + F, zero)
            third, fourth = load(by_feature, place + 2 * F, zero), load(by_feature, place + 3 * F, zero)
            a0, a1 = fma(first, splat(x, u0 + j, zero), a0), fma(first, splat(x, u1 + j, zero), a1)
            b0, b1 = fma(second, splat(x, u0 + j + 1, zero), b0), fma(second, splat(x, u1 + j + 1, zero), b1)
            c0, c1 = fma(third, splat(x, u0 + j + 2, zero), c0), fma(third, splat(x, u1 + j + 2, zero), c1)
            d0, d1 = fma(fourth, splat(x, u0 + j + 3, zero), d0), fma(fourth, splat(x, u1 + j + 3, zero), d1)
            place += 4 * F
    store(p, target, (a0 + b0) + (c0 + d0))
    store(p, target + F, (a1 + b1) + (c1 + d1))


@jit
def phases(by_feature, row, senders, x, D, F, first, last, start, p, base, tail, zero, lanes, wider):
    """Phases of the edges ``first <= e < last`` of one receiver, to the rows of ``p`` from ``base`` on."""
    full = last - (last - first) % GROUP
    for block in range(0, F, lanes):
        begin = load(start, block, zero)
        place = row + block
        for e in range(first, full, GROUP):
            u0, u1 = sender_row(senders, e, last, D), sender_row(senders, e + 1, last, D)
            u2, u3 = sender_row(senders, e + 2, last, D), sender_row(senders, e + 3, last, D)
            if block == 0:
                prefetch_rows(x, senders, e + AHEAD, 0, D)
            target = base + (e - first) * F + block
            phases_of_four(by_feature, place, F, x, u0, u1, u2, u3, D, begin, p, target, zero, wider)
        if full < last:
            u0, u1 = sender_row(senders, full, last, D), sender_row(senders, full + 1, last, D)
            if last - full <= 2:
                phases_of_two(by_feature, place, F, x, u0, u1, D, begin, tail, block, zero, wider)
            else:
                u2 = sender_row(senders, full + 2, last, D)
                phases_of_four(by_feature, place, F, x, u0, u1, u2, u2, D, begin, tail, block, zero, wider)
    for e in range(last - full):
        for f in range(0, F, lanes):
            store(p, base + (full - first + e) * F + f, load(tail, e * F + f, zero))


@jit
def receiver_phases(
    v, row, first, last, tile, x, senders, phase, edge_phase, P, D, F, start, p, base, tail, zero, lanes, wider
):  # fmt: skip
    """Phases of all edges of receiver ``v``, whose projection lies at ``row`` of the tile."""
    if phase.size:
        copy_blocks(phase, v * P, P, start, 0, F, 1, P)
    phases(tile, row, senders, x, D, F, first, last, start, p, base, tail, zero, lanes, wider)
    if edge_phase.size:
        for e in range(first, last):
            for f in range(P):
                place = base + (e - first) * F + f
                poke(p, place, peek(p, place) + peek(edge_phase, e * P + f))


@jit
def add_row(target, place, value, zero):
    """Add one register to a row."""
    store(target, place, load(target, place, zero) + value)


@jit
def products_of_four(
    d_p, base, by_projection, x, u0, u1, u2, u3, P, D, F, d_projection, row, begins, ends, d_bias, grad_x, origin,
    zero, lanes,
):  # fmt: skip
    """``dF_v += sum_e dp_e h_u^T`` and ``dh_u += F_v^T dp_e`` of four edges."""
    for j in range(0, D, lanes):
        h0, h1 = load(x, u0 + j, zero), load(x, u1 + j, zero)
        h2, h3 = load(x, u2 + j, zero), load(x, u3 + j, zero)
        a0 = a1 = a2 = a3 = zero
        for f in range(P):
            projection = load(by_projection, f * D + j, zero)
            q0, q1 = splat(d_p, base + f, zero), splat(d_p, base + F + f, zero)
            q2, q3 = splat(d_p, base + 2 * F + f, zero), splat(d_p, base + 3 * F + f, zero)
            a0, a1 = fma(q0, projection, a0), fma(q1, projection, a1)
            a2, a3 = fma(q2, projection, a2), fma(q3, projection, a3)
            place = row + f * D + j
            gradient = zero if begins else load(d_projection, place, zero)
            gradient = fma(q1, h1, fma(q0, h0, gradient))
            gradient = fma(q3, h3, fma(q2, h2, gradient))
            store(d_projection, place, gradient)
            if ends:
                add_row(d_bias, f * D + j, gradient, zero)
        # one after another: a sender may stand twice in a group
        add_row(grad_x, u0 + j - origin, a0, zero)
        add_row(grad_x, u1 + j - origin, a1, zero)
        add_row(grad_x, u2 + j - origin, a2, zero)
        add_row(grad_x, u3 + j - origin, a3, zero)


@jit
def products_of_two(
    d_p, by_projection, x, u0, u1, P, D, F, d_projection, row, begins, d_bias, grad_x, origin, zero, lanes
):  # fmt: skip
    """The same of the last two edges of a receiver."""
    for j in range(0, D, lanes):
        h0, h1 = load(x, u0 + j, zero), load(x, u1 + j, zero)
        a0 = a1 = zero
        for f in range(P):
            projection = load(by_projection, f * D + j, zero)
            q0, q1 = splat(d_p, f, zero), splat(d_p, F + f, zero)
            a0, a1 = fma(q0, projection, a0), fma(q1, projection, a1)
            place = row + f * D + j
            gradient = zero if begins else load(d_projection, place, zero)
            gradient = fma(q1, h1, fma(q0, h0, gradient))
            store(d_projection, place, gradient)
            add_row(d_bias, f * D + j, gradient, zero)
        add_row(grad_x, u0 + j - origin, a0, zero)
        add_row(grad_x, u1 + j - origin, a1, zero)


@jit
def outer_products(
    d_p, base, tail, by_projection, x, senders, first, last, P, D, F, d_projection, row, d_bias, grad_x,
    first_sender, zero, lanes,
):  # fmt: skip
    """``dF_v = sum_e dp_e h_u^T``, added to ``d_bias`` too, and ``dh_u += F_v^T dp_e``, over one receiver's edges."""
    clear(d_projection, row + P * D, (F - P) * D, zero, lanes)
    full = last - (last - first) % GROUP
    origin = first_sender * D
    for e in range(first, full, GROUP):
        u0, u1 = sender_row(senders, e, last, D), sender_row(senders, e + 1, last, D)
        u2, u3 = sender_row(senders, e + 2, last, D), sender_row(senders, e + 3, last, D)
        if e + GROUP < last:
            prefetch_rows(grad_x, senders, e + GROUP, first_sender, D)
        products_of_four(
            d_p, base + (e - first) * F, by_projection, x, u0, u1, u2, u3, P, D, F, d_projection, row, e == first,
            e + GROUP == last, d_bias, grad_x, origin, zero, lanes,
        )  # fmt: skip
    if full == last:
        return
    rest = last - full
    copy_blocks(d_p, base + (full - first) * F, F, tail, 0, F, rest, F)
    for i in range(rest * F, GROUP * F):
        poke(tail, i, np.float32(0))
    u0, u1 = sender_row(senders, full, last, D), sender_row(senders, full + 1, last, D)
    if rest <= 2:
        products_of_two(
            tail, by_projection, x, u0, u1, P, D, F, d_projection, row, full == first, d_bias, grad_x, origin,
            zero, lanes,
        )  # fmt: skip
    else:
        u2 = sender_row(senders, full + 2, last, D)
        products_of_four(
            tail, 0, by_projection, x, u0, u1, u2, u2, P, D, F, d_projection, row, full == first, True, d_bias,
            grad_x, origin, zero, lanes,
        )  # fmt: skip
