from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data.jacobi import symmetric_eigenvectors


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 12), batch=st.integers(1, 4), seed=st.integers(0, 2**32 - 1), integers=st.booleans())
def test_it_agrees_with_lapack(n: int, batch: int, seed: int, integers: bool) -> None:
    random = np.random.default_rng(seed)
    half = random.integers(-2, 3, (batch, n, n)).astype(float) if integers else random.standard_normal((batch, n, n))
    matrices = half + half.transpose(0, 2, 1)
    values, vectors = symmetric_eigenvectors(matrices)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrices), atol=1e-8)
    np.testing.assert_allclose(matrices @ vectors, vectors * values[:, None, :], atol=1e-11)
    np.testing.assert_allclose(
        vectors.transpose(0, 2, 1) @ vectors, np.broadcast_to(np.eye(n), (batch, n, n)), atol=1e-11
    )


def test_a_matrix_does_not_depend_on_its_batch() -> None:
    random = np.random.default_rng(0)
    half = random.integers(0, 2, (5, 9, 9)).astype(float)
    matrices = half + half.transpose(0, 2, 1)
    _, together = symmetric_eigenvectors(matrices)
    _, alone = symmetric_eigenvectors(matrices[3:4])
    np.testing.assert_array_equal(together[3], alone[0])
