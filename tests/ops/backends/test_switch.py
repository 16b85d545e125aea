"""The switch between the backends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from mshgnn.ops import (
    Factored,
    Generated,
    Inputs,
    get_backend,
    harmonic_aggregate,
    last_backend,
    receiver_csr,
    set_backend,
)
from mshgnn.ops.backends import BACKENDS
from mshgnn.ops.graph import EdgeList

KINDS = ("generated", "factored")
NAMES = ", ".join(["auto", *(backend.NAME for backend in BACKENDS)])
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _same_backend() -> Iterator[None]:
    before = get_backend()
    yield
    set_backend(before)


def call(kind: str, dtype: torch.dtype = torch.float32, num_bands: int = 2, traced: bool = False) -> None:
    x, weight, bias = torch.zeros(3, 4, dtype=dtype), torch.zeros(8, 4, dtype=dtype), torch.zeros(8, dtype=dtype)
    phases = Generated(x, x, weight, bias, None) if kind == "generated" else Factored(x, x, 2)
    sender, receiver = torch.tensor([[0, 1], [1, 2]])
    graph = (
        EdgeList(sender, receiver, torch.arange(2), 3)
        if traced
        else receiver_csr(torch.stack([sender, receiver]), 3, 3)
    )
    harmonic_aggregate(Inputs(phases, graph, torch.ones(num_bands, dtype=dtype)))


@every_kind
def test_auto_takes_the_kernels_for_float32_on_cpu_only(kind: str) -> None:
    set_backend("auto")
    call(kind)
    assert last_backend() == "fused"
    call(kind, torch.float64)
    assert last_backend() == "reference"
    call(kind)
    call(kind, num_bands=0)
    assert last_backend() == "reference"
    call(kind)
    call(kind, traced=True)
    assert last_backend() == "reference"


@every_kind
def test_reference_is_obeyed(kind: str) -> None:
    set_backend("reference")
    call(kind)
    assert last_backend() == "reference"


@every_kind
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dtype": torch.float64}, "not torch.float32"),
        ({"num_bands": 0}, "no frequencies"),
        ({"traced": True}, "a trace is being recorded"),
    ],
)
def test_fused_refuses_what_it_cannot_do(kind: str, options: dict[str, object], reason: str) -> None:
    set_backend("fused")
    with pytest.raises(ValueError, match=f"the fused backend does not apply: .*{reason}"):
        call(kind, **options)  # type: ignore[arg-type]


@every_kind
def test_fused_refuses_other_devices(kind: str) -> None:
    x = torch.zeros(3, 4, device="meta")
    phases = (
        Factored(x, x, 2) if kind == "factored" else Generated(x, x, torch.cat([x, x, x[:2]]), x.new_zeros(8), None)
    )
    set_backend("fused")
    graph = receiver_csr(torch.tensor([[0, 1], [1, 2]]), 3, 3)
    with pytest.raises(ValueError, match="the tensors are on meta, not on cpu"):
        harmonic_aggregate(Inputs(phases, graph, x.new_ones(1)))


def test_every_backend_has_a_name_and_the_last_applies_everywhere() -> None:
    names = [backend.NAME for backend in BACKENDS]
    assert names[0] == "fused"
    assert names[-1] == "reference"
    assert len(set(names)) == len(names)


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=f"backend must be one of {NAMES}, got 'gpu'"):
        set_backend("gpu")


@pytest.mark.parametrize("name", ["reference", "nonsense"])
def test_environment(name: str) -> None:
    code = "from mshgnn.ops import get_backend; print(get_backend())"
    environment = {**os.environ, "MSHGNN_BACKEND": name}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if name == "reference":
        assert done.stdout == "reference\n"
    else:
        assert f"MSHGNN_BACKEND must be one of {NAMES}, got 'nonsense'" in done.stderr
