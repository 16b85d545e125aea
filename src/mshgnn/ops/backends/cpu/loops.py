"""Loops over padded vectors, the words that the kernels are written in."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

from mshgnn.ops.backends.cpu.simd import fill, fma, load, peek, poke, store, total

FLUSH = 64  # edges after which float32 sums over all edges go to float64

_f = np.float32

jit = njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)


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
def copy_padded(source, source_offset, target, target_offset, P, F, blocks, zero, lanes):
    """``blocks`` blocks of ``P`` numbers to blocks of ``F``; a register at a time where nothing is padded."""
    if P == F:
        for i in range(0, blocks * F, lanes):
            store(target, target_offset + i, load(source, source_offset + i, zero))
    else:
        copy_blocks(source, source_offset, P, target, target_offset, F, blocks, P)


@jit
def copy_trimmed(source, source_offset, target, target_offset, P, F, blocks, zero, lanes):
    """``blocks`` blocks of ``F`` numbers to blocks of ``P``; a register at a time where nothing is padded."""
    if P == F:
        for i in range(0, blocks * F, lanes):
            store(target, target_offset + i, load(source, source_offset + i, zero))
    else:
        copy_blocks(source, source_offset, F, target, target_offset, P, blocks, P)


@jit
def flush(target, values, size):
    """Add float32 sums to float64 sums and begin again."""
    for i in range(size):
        poke(target, i, peek(target, i) + np.float64(peek(values, i)))
        poke(values, i, _f(0))


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
def sigmoid(logit):
    """The logistic function without overflow."""
    if logit >= 0:
        return _f(1.0) / (_f(1.0) + math.exp(-logit))
    power = math.exp(logit)
    return power / (_f(1.0) + power)
