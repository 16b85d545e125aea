"""The numba kernels of :func:`mshgnn.ops.normalize.open_norm`."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mshgnn.compiled import compiled

# Sums may be taken in any order, so that they fill a register; NaN and infinity keep their meaning.
_FREE_ORDER: Any = {"reassoc", "contract", "nsz"}
_FORWARD: Any = "void(i8,i8,f8,f4[:,::1],f4[:,::1],f4[:,::1],f4[::1])"
_BACKWARD: Any = "void(i8,i8,f4[:,::1],f4[:,::1],f4[:,::1],f4[::1],f4[:,::1])"

_f = np.float32


@compiled([_FORWARD], nogil=True, boundscheck=False, error_model="numpy", fastmath=_FREE_ORDER)
def normalize_rows(low, high, epsilon, x, features, removed, inverse):
    """Normalised rows to ``features``, their mean and log variance to ``removed``, ``1 / deviation`` to ``inverse``."""
    width = x.shape[1]
    share = _f(1.0) / _f(width)
    for v in range(low, high):
        row, out = x[v], features[v]
        total = _f(0)
        for j in range(width):
            total += row[j]
        mean = total * share
        rest = _f(0)
        for j in range(width):  # what rounding left over, which counts where the mean is large
            rest += row[j] - mean
        mean += rest * share
        squares = _f(0)
        for j in range(width):
            shifted = row[j] - mean
            squares += shifted * shifted
        variance = squares * share + _f(epsilon)
        scale = _f(1.0) / math.sqrt(variance)
        for j in range(width):
            out[j] = (row[j] - mean) * scale
        removed[v, 0] = mean
        removed[v, 1] = math.log(variance)
        inverse[v] = scale


@compiled([_BACKWARD], nogil=True, boundscheck=False, error_model="numpy", fastmath=_FREE_ORDER)
def normalize_rows_backward(low, high, gradient, d_removed, features, inverse, result):
    """``dx`` from the gradients of the normalised rows and of what was removed."""
    width = result.shape[1]
    share = _f(1.0) / _f(width)
    for v in range(low, high):
        g, normal, out = gradient[v], features[v], result[v]
        plain = _f(0)
        along = _f(0)
        offset = _f(0)  # zero but for rounding
        for j in range(width):
            plain += g[j]
            along += g[j] * normal[j]
            offset += normal[j]
        scale = inverse[v]
        shift = d_removed[v, 0] * share - scale * plain * share
        slope = scale * share * (_f(2.0) * d_removed[v, 1] - along)
        shift -= slope * offset * share
        for j in range(width):
            out[j] = scale * g[j] + shift + slope * normal[j]


_STANDARD: Any = "void(f4[:,::1],i8,f4[:,::1],f4[::1],f4[::1],f8,b1)"
_STANDARD_BACKWARD: Any = "void(f4[:,::1],f4[:,::1],i8,f4[::1],f8,b1,f4[:,::1])"


@compiled([_STANDARD], nogil=True, boundscheck=False, error_model="numpy")
def standardize(removed, width, features, mean, variance, epsilon, over_rows):
    """Both columns, standardised, behind the normalised rows: by the given numbers, or by their own, written there."""
    rows = removed.shape[0]
    for column in range(2):
        if over_rows:  # in double precision, rounded once
            total = 0.0
            for v in range(rows):
                total += removed[v, column]
            middle = total / rows
            squares = 0.0
            for v in range(rows):
                shifted = removed[v, column] - middle
                squares += shifted * shifted
            mean[column] = middle
            variance[column] = squares / rows
        scale = _f(1.0) / math.sqrt(variance[column] + _f(epsilon))
        for v in range(rows):
            features[v, width + column] = (removed[v, column] - mean[column]) * scale


@compiled([_STANDARD_BACKWARD], nogil=True, boundscheck=False, error_model="numpy")
def standardize_backward(gradient, features, width, variance, epsilon, over_rows, d_removed):
    """The gradient of both columns before they were standardised, over the rows or by given numbers."""
    rows = gradient.shape[0]
    for column in range(2):
        scale = _f(1.0) / math.sqrt(variance[column] + _f(epsilon))
        plain = 0.0
        along = 0.0
        if over_rows:
            for v in range(rows):
                plain += gradient[v, width + column]
                along += gradient[v, width + column] * features[v, width + column]
        plain, along = plain / rows, along / rows
        for v in range(rows):
            value = gradient[v, width + column] - plain - features[v, width + column] * along
            d_removed[v, column] = value * scale
