"""The Triton kernels of the factored phase: one program per node and block of projections.

Indices: ``v`` the node a program owns, ``e`` its edges (``EDGES`` at a time), ``r`` the ``R + 1`` blocks of a table
row, ``k`` the bands, ``f`` the projections. Every extent is padded to a power of two; what is beyond is read as zero
and never written. Nothing here is atomic: a program alone writes its rows, in a fixed order of sums.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def table_rows(table, stride, rows, r, R, f, F, valid):
    """``[E, R + 1, F]``: the rows of a table, block by block."""
    place = rows[:, None, None] * stride + (r * F)[None, :, None] + f[None, None, :]
    inside = valid[:, None, None] & (r <= R)[None, :, None] & (f < F)[None, None, :]
    return tl.load(table + place, mask=inside, other=0.0)


@triton.jit
def bands(sums, rows, first, k, K, f, F, valid):
    """``[E, K, F]``: the sines' (``first = 0``) or the cosines' (``first = 1``) columns of rows of width ``2KF``."""
    place = rows[:, None, None] * (2 * K * F) + ((2 * k + first) * F)[None, :, None] + f[None, None, :]
    inside = valid[:, None, None] & (k < K)[None, :, None] & (f < F)[None, None, :]
    return tl.load(sums + place, mask=inside, other=0.0)


@triton.jit
def phases(own, other, edge_phase, e, r, f, F, valid):
    """``p = T^0 + U^0 + sum_r T^r U^r (+ e)``, ``[E, F]``; symmetric in both sides."""
    p = tl.sum(tl.where(r[None, :, None] == 0, own + other, own * other), axis=1)
    if edge_phase is not None:
        inside = valid[:, None] & (f < F)[None, :]
        p += tl.load(edge_phase + e[:, None] * F + f[None, :], mask=inside, other=0.0)
    return p


@triton.jit
def weights(edge_weight, e, valid):
    """``c_vu``, ``[E, 1, 1]``; zero beyond the edges."""
    c = valid.to(tl.float32)
    if edge_weight is not None:
        c = tl.load(edge_weight + e, mask=valid, other=0.0)
    return c[:, None, None]


@triton.jit
def forward(
    receiver, receiver_stride, sender, sender_stride, rowptr, senders, edge_phase, edge_weight, frequencies, S,
    F, R, K, EDGES: tl.constexpr, BLOCKS: tl.constexpr, BANDS: tl.constexpr, PROJECTIONS: tl.constexpr,
):  # fmt: skip
    """``S_v`` of one receiver."""
    v = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * PROJECTIONS + tl.arange(0, PROJECTIONS)
    r, k, one = tl.arange(0, BLOCKS), tl.arange(0, BANDS), tl.arange(0, 1)
    own = table_rows(receiver, receiver_stride, v + one, r, R, f, F, one == 0)
    w = tl.load(frequencies + k, mask=k < K, other=0.0)
    sines = tl.zeros((EDGES, BANDS, PROJECTIONS), tl.float32)
    cosines = tl.zeros((EDGES, BANDS, PROJECTIONS), tl.float32)
    last = tl.load(rowptr + v + 1)
    for begin in range(tl.load(rowptr + v), last, EDGES):
        e = begin + tl.arange(0, EDGES)
        valid = e < last
        u = tl.load(senders + e, mask=valid, other=0).to(tl.int64)
        other = table_rows(sender, sender_stride, u, r, R, f, F, valid)
        p = phases(own, other, edge_phase, e, r, f, F, valid)
        angle = p[:, None, :] * w[None, :, None]
        c = weights(edge_weight, e, valid)
        sines += c * tl.sin(angle)
        cosines += c * tl.cos(angle)
    place = S + v * (2 * K * F) + (2 * k * F)[:, None] + f[None, :]
    inside = (k < K)[:, None] & (f < F)[None, :]
    tl.store(place, tl.sum(sines, axis=0), mask=inside)
    tl.store(place + F, tl.sum(cosines, axis=0), mask=inside)


@triton.jit
def backward(
    own_table, own_stride, other_table, other_stride, rowptr, others, edge_phase, edge_weight, frequencies,
    places, grad_S, grad_own, grad_stride, grad_edge_phase, grad_edge_weight, grad_frequencies, num_edges,
    F, R, K, EDGES: tl.constexpr, BLOCKS: tl.constexpr, BANDS: tl.constexpr, PROJECTIONS: tl.constexpr,
):  # fmt: skip
    """The gradient of one node's table row: of a receiver, or with ``places`` of a sender.

    ``places[i]`` is where edge ``i`` of the sender order stands in receiver order. ``None`` stands for gradients that
    nobody wants; those of edges and frequencies belong to the receivers' pass. ``grad_edge_weight [.., M]`` and
    ``grad_frequencies [N, .., K]`` hold one part per block of projections.
    """
    v = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    f = block * PROJECTIONS + tl.arange(0, PROJECTIONS)
    r, k, one = tl.arange(0, BLOCKS), tl.arange(0, BANDS), tl.arange(0, 1)
    own = table_rows(own_table, own_stride, v + one, r, R, f, F, one == 0)
    w = tl.load(frequencies + k, mask=k < K, other=0.0)
    d_own = tl.zeros((EDGES, BLOCKS, PROJECTIONS), tl.float32)
    d_w = tl.zeros((EDGES, BANDS, PROJECTIONS), tl.float32)
    last = tl.load(rowptr + v + 1)
    for begin in range(tl.load(rowptr + v), last, EDGES):
        i = begin + tl.arange(0, EDGES)
        valid = i < last
        u = tl.load(others + i, mask=valid, other=0).to(tl.int64)
        other = table_rows(other_table, other_stride, u, r, R, f, F, valid)
        if places is None:
            e = i
            g_sine = bands(grad_S, v + one, 0, k, K, f, F, one == 0)
            g_cosine = bands(grad_S, v + one, 1, k, K, f, F, one == 0)
        else:
            e = tl.load(places + i, mask=valid, other=0)
            g_sine = bands(grad_S, u, 0, k, K, f, F, valid)
            g_cosine = bands(grad_S, u, 1, k, K, f, F, valid)
        p = phases(own, other, edge_phase, e, r, f, F, valid)
        angle = p[:, None, :] * w[None, :, None]
        s, c = tl.sin(angle), tl.cos(angle)
        d_angle = weights(edge_weight, e, valid) * (g_sine * c - g_cosine * s)
        q = tl.sum(d_angle * w[None, :, None], axis=1)
        d_own += q[:, None, :] * tl.where(r[None, :, None] == 0, 1.0, other)
        if grad_edge_phase is not None:
            inside = valid[:, None] & (f < F)[None, :]
            tl.store(grad_edge_phase + e[:, None] * F + f[None, :], q, mask=inside)
        if grad_edge_weight is not None:
            through = tl.sum(tl.sum(g_sine * s + g_cosine * c, axis=2), axis=1)
            tl.store(grad_edge_weight + block.to(tl.int64) * num_edges + e, through, mask=valid)
        if grad_frequencies is not None:
            d_w += d_angle * p[:, None, :]
    if grad_own is not None:
        inside = (r <= R)[:, None] & (f < F)[None, :]
        tl.store(grad_own + v * grad_stride + (r * F)[:, None] + f[None, :], tl.sum(d_own, axis=0), mask=inside)
    if grad_frequencies is not None:
        place = grad_frequencies + (v * tl.num_programs(1) + block) * K + k
        tl.store(place, tl.sum(tl.sum(d_w, axis=2), axis=0), mask=k < K)
