"""Sines, cosines and the harmonic encoding of one edge, a register at a time."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from mshgnn.ops.backends.cpu.loops import jit
from mshgnn.ops.backends.cpu.simd import (
    MAGIC,
    any_beyond,
    fill,
    fma,
    load,
    negate_where_two,
    splat,
    store,
    where_odd,
)

_f = np.float32
_PER_RADIAN = _f(2 / math.pi)
# pi / 2 in three parts: with fused multiply-add the remainder is exact to the last bit up to _REDUCED_EXACTLY.
_HALF_PI = (_f(1.5707963705062866), _f(-4.371138828673793e-08), _f(-1.7151245100058819e-15))
_REDUCED_EXACTLY = _f(1e6)
# sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 Q(r^2) for |r| <= pi / 4, least largest error (4e-9)
_SIN = (_f(-0.16666655242443085), _f(0.00833216030150652), _f(-0.00019515218446031213))
_COS = (_f(0.04166664555668831), _f(-0.0013887315290048718), _f(2.4433082217001356e-05))


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


RESTART = 4
"""A doubled angle has twice the error: after so many bands the chain begins again from the phase itself."""


@jit
def double_angle(s, c):
    """``sin 2x`` and ``cos 2x`` from ``sin x`` and ``cos x``."""
    one, two = fill(_f(1.0), s), fill(_f(2.0), s)
    return two * s * c, one - two * s * s


@jit
def next_band(p, s, c, k, frequencies, doubling, scratch, lanes):
    """Sine and cosine of band ``k`` of the phases ``p``, from those of the band before where they double."""
    if k % RESTART == 0 or not doubling:
        return sincos_anywhere(p * splat(frequencies, k, p), scratch, lanes)
    return double_angle(s, c)


@jit
def encode(p, row, F, frequencies, doubling, psi, zero, lanes, scratch):
    """``psi = [sin(w_1 p) | cos(w_1 p) | ...]`` of one edge, ``[2K, F]``; ``doubling``: ``w_k = 2 w_(k-1)``."""
    for block in range(0, F, lanes):
        angle = load(p, row + block, zero)
        s = c = zero
        for k in range(frequencies.size):
            s, c = next_band(angle, s, c, k, frequencies, doubling, scratch, lanes)
            store(psi, 2 * k * F + block, s)
            store(psi, (2 * k + 1) * F + block, c)
