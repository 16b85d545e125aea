"""What the factored kernels do per edge. See :mod:`mshgnn.ops.backends.cpu.factored_forward` for names and layouts."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from mshgnn.ops.backends.cpu.loops import jit
from mshgnn.ops.backends.cpu.simd import fma, load, peek, prefetch, store

GROUP = 4
AHEAD = 2 * GROUP  # edges between the request for a sender's row and its use
CACHE_LINE = 16  # numbers


@jit
def phase_of(t, block, sender, row, R, F, edge_phase, e, zero):
    """``T^0 + U^0 + sum_r T^r U^r (+ e)`` of one edge, for as many projections as ``zero`` has lanes."""
    p = load(t, block, zero) + load(sender, row + block, zero)
    for r in range(1, R + 1):
        place = r * F + block
        p = fma(load(t, place, zero), load(sender, row + place, zero), p)
    if edge_phase.size:
        p = p + load(edge_phase, e * F + block, zero)
    return p


@jit
def sender_row(senders, e, stride, start):
    """Where the blocks of the sender of edge ``e`` begin."""
    return np.int64(peek(senders, e)) * stride + start


@jit
def prefetch_rows(table, senders, begin, origin, stride, start, width):
    """Ask for the rows of one group of senders, if there is such a group."""
    if begin + GROUP <= senders.size:
        for e in range(begin, begin + GROUP):
            row = (np.int64(peek(senders, e)) - origin) * stride + start
            for j in range(0, width, CACHE_LINE):
                prefetch(table, row + j)


@jit
def add_to(target, place, value, zero):
    """Add one register to memory."""
    store(target, place, load(target, place, zero) + value)


@jit
def pass_on(q, t, d_t, sender, u, grad_sender, d, R, F, block, zero):
    """The gradient ``q`` of one phase to both of its table rows."""
    add_to(d_t, block, q, zero)
    add_to(grad_sender, d + block, q, zero)
    for r in range(1, R + 1):
        i = r * F + block
        add_to(d_t, i, q * load(sender, u + i, zero), zero)
        add_to(grad_sender, d + i, q * load(t, i, zero), zero)


SHARED_SIGNATURE = "i8,i8,i8,i8,i8,f4[::1],i8,f4[::1],i8,i8,i8[::1],i4[::1],f4[::1],f4[::1],f4[::1],b1,f4[::1],i8"
"""The types of the arguments that the forward and the backward kernel share."""
