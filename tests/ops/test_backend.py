"""The switch between the backends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from mshgnn.ops import fused, get_backend, harmonic_aggregate, last_backend, receiver_csr, set_backend


@pytest.fixture(autouse=True)
def _same_backend() -> Iterator[None]:
    before = get_backend()
    yield
    set_backend(before)


def call(dtype: torch.dtype = torch.float32, num_bands: int = 2) -> None:
    x, weight, bias = torch.zeros(3, 4, dtype=dtype), torch.zeros(8, 4, dtype=dtype), torch.zeros(8, dtype=dtype)
    csr = receiver_csr(torch.tensor([[0, 1], [1, 2]]), 3, 3)
    harmonic_aggregate(x, x, weight, bias, None, csr, torch.ones(num_bands, dtype=dtype))


def test_auto_takes_the_kernels_for_float32_on_cpu_only() -> None:
    set_backend("auto")
    call()
    assert last_backend() == "fused"
    call(torch.float64)
    assert last_backend() == "reference"
    call(num_bands=0)
    assert last_backend() == "reference"


def test_reference_is_obeyed() -> None:
    set_backend("reference")
    call()
    assert last_backend() == "reference"


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"dtype": torch.float64}, "not torch.float32"), ({"num_bands": 0}, "no frequencies")],
)
def test_fused_refuses_what_it_cannot_do(options: dict[str, object], reason: str) -> None:
    set_backend("fused")
    with pytest.raises(ValueError, match=reason):
        call(**options)  # type: ignore[arg-type]


def test_without_numba_auto_takes_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "HAS_NUMBA", False)
    set_backend("auto")
    call()
    assert last_backend() == "reference"
    set_backend("fused")
    with pytest.raises(ValueError, match="numba is not installed"):
        call()


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="backend must be one of auto, reference, fused, got 'gpu'"):
        set_backend("gpu")


@pytest.mark.parametrize("name", ["reference", "nonsense"])
def test_environment(name: str) -> None:
    code = "from mshgnn.ops import get_backend; print(get_backend())"
    environment = {**os.environ, "MSHGNN_BACKEND": name}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if name == "reference":
        assert done.stdout == "reference\n"
    else:
        assert "MSHGNN_BACKEND must be one of auto, reference, fused, got 'nonsense'" in done.stderr
