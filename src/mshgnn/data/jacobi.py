"""Eigenvectors of many small symmetric matrices at once, by Jacobi rotations.

LAPACK would do, but which basis it picks in an eigenspace of several dimensions depends on the machine's
library and processor. Here every operation is an IEEE sum, product, quotient or root in a fixed order (numba without
``fastmath`` reorders and fuses nothing): the same bits everywhere.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mshgnn.compiled import compiled

Floats = npt.NDArray[np.float64]
MAX_SWEEPS = 60


def symmetric_eigenvectors(matrices: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues ``[batch, n]`` in increasing order and eigenvectors ``[batch, n, n]`` (columns)."""
    batch, n, _ = matrices.shape
    work = matrices.astype(np.float64, order="C", copy=True)
    vectors = np.tile(np.eye(n), (batch, 1, 1))
    if not _diagonalise(work, vectors):
        raise ArithmeticError("Jacobi rotations did not converge")
    values = np.diagonal(work, axis1=1, axis2=2)
    # Equal eigenvalues come out 1e-15 apart: without rounding, that noise would decide their order.
    order = np.argsort(np.round(values, 9), axis=1, kind="stable")
    sorted_vectors = np.take_along_axis(vectors, order[:, :, None], axis=1)
    return np.take_along_axis(values, order, axis=1), sorted_vectors.transpose(0, 2, 1)


@compiled()
def _diagonalise(matrices: Floats, vectors: Floats) -> bool:
    """Rotate each matrix to a diagonal one in place; rows of ``vectors`` take part in every rotation.

    One rotation of rows and columns ``p < q`` zeroes ``a[p, q]``; sweeps over all pairs are repeated until no entry
    beside the diagonal matters.
    """
    batch, n, _ = matrices.shape
    for index in range(batch):
        a, v = matrices[index], vectors[index]
        tiny = 1e-15 * np.abs(a).max()
        for _ in range(MAX_SWEEPS):
            rotations = 0
            for p in range(n - 1):
                for q in range(p + 1, n):
                    if abs(a[p, q]) <= tiny:
                        continue
                    rotations += 1
                    theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                    tangent = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                    if theta < 0.0:
                        tangent = -tangent
                    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
                    sine = tangent * cosine
                    shift = tangent * a[p, q]
                    app, aqq = a[p, p] - shift, a[q, q] + shift
                    for j in range(n):
                        x, y = a[p, j], a[q, j]
                        a[p, j] = cosine * x - sine * y
                        a[q, j] = sine * x + cosine * y
                        x, y = v[p, j], v[q, j]
                        v[p, j] = cosine * x - sine * y
                        v[q, j] = sine * x + cosine * y
                    a[p, p], a[q, q], a[p, q], a[q, p] = app, aqq, 0.0, 0.0
                    for j in range(n):
                        a[j, p], a[j, q] = a[p, j], a[q, j]
            if rotations == 0:
                break
        else:
            return False
    return True
