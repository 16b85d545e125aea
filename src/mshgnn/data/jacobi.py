"""Eigenvectors of many small symmetric matrices at once, by Jacobi rotations.

LAPACK would do, but which basis it picks in an eigenspace of several dimensions depends on the machine's
library and processor. Here every operation is an elementwise IEEE one in a fixed order: the same bits everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def symmetric_eigenvectors(matrices: Floats, *, tolerance: float = 1e-13) -> tuple[Floats, Floats]:
    """Eigenvalues ``[batch, n]`` in increasing order and eigenvectors ``[batch, n, n]`` (columns).

    Cyclic Jacobi in rounds of ``n / 2`` disjoint rotations (a round-robin tournament), until every
    off-diagonal entry is below ``tolerance`` times the largest entry.
    """
    batch, n, _ = matrices.shape
    a = matrices.astype(np.float64, copy=True)
    # Rows of v are the eigenvectors: row operations are contiguous.
    v = np.broadcast_to(np.eye(n), a.shape).copy()
    scale = np.abs(a).max(initial=0.0)
    off_diagonal = ~np.eye(n, dtype=bool)
    rounds = _rounds(n)
    for _ in range(50):
        if np.abs(a[:, off_diagonal]).max(initial=0.0) <= tolerance * scale:
            break
        for p, q in rounds:
            cosine, sine = _rotations(a[:, p, p], a[:, q, q], a[:, p, q])
            for rows in (a, v):
                _rotate_rows(rows, p, q, cosine, sine)
            _rotate_rows(a.transpose(0, 2, 1), p, q, cosine, sine)
    else:
        raise ArithmeticError("Jacobi rotations did not converge")
    values = a[:, np.arange(n), np.arange(n)]
    # Equal eigenvalues come out with errors of 1e-15: rounding keeps their order from deciding anything.
    order = np.argsort(np.round(values, 9), axis=1, kind="stable")
    sorted_values = np.take_along_axis(values, order, axis=1)
    sorted_vectors = np.take_along_axis(v, order[:, :, None], axis=1).transpose(0, 2, 1)
    return sorted_values, sorted_vectors


def _rounds(n: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Every pair ``p < q`` once, in rounds of disjoint pairs (the circle method; an odd one sits out)."""
    players = list(range(n + n % 2))
    half = len(players) // 2
    rounds = []
    for _ in range(len(players) - 1):
        pairs = [sorted((players[i], players[-1 - i])) for i in range(half)]
        p, q = np.array([pair for pair in pairs if pair[1] < n], dtype=np.int64).T
        rounds.append((p, q))
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _rotations(app: Floats, aqq: Floats, apq: Floats) -> tuple[Floats, Floats]:
    """Cosine and sine of the rotations that zero ``apq``, ``[batch, pairs, 1]``; the smaller angle."""
    nothing = apq == 0.0
    theta = (aqq - app) / (2.0 * np.where(nothing, 1.0, apq))
    tangent = np.where(theta < 0.0, -1.0, 1.0) / (np.abs(theta) + np.sqrt(theta * theta + 1.0))
    tangent = np.where(nothing, 0.0, tangent)
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    return cosine[..., None], (tangent * cosine)[..., None]


def _rotate_rows(a: Floats, p: npt.NDArray[np.int64], q: npt.NDArray[np.int64], cosine: Floats, sine: Floats) -> None:
    """Replace rows ``p`` and ``q`` by their rotation, in place."""
    row_p, row_q = a[:, p], a[:, q]
    a[:, p] = cosine * row_p - sine * row_q
    a[:, q] = sine * row_p + cosine * row_q
