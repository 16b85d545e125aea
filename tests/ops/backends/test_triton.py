"""The Triton backend: where it applies, that it compiles for GPUs, and what it computes in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from mshgnn.errors import UserError
from mshgnn.ops import Factored, Generated, Inputs, get_backend, harmonic_aggregate, receiver_csr, set_backend
from mshgnn.ops.backends import BACKENDS, triton

HERE = Path(__file__).parent
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed (the gpu extra)")


@pytest.fixture(autouse=True)
def _same_backend() -> Iterator[None]:
    before = get_backend()
    yield
    set_backend(before)


def factored() -> Inputs:
    graph = receiver_csr(torch.tensor([[0, 1], [1, 2]]), 3, 3)
    return Inputs(Factored(torch.zeros(3, 4), None, 2), graph, torch.ones(2))


def python(code: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code], capture_output=True, text=True, env=os.environ | environment, timeout=550
    )


@needs_triton
def test_sums_and_gradients_in_the_interpreter() -> None:
    cases = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", f"pythonpath={HERE / 'cpu'}"]
    done = python([*cases, str(HERE / "triton_cases.py")], TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_tried_after_the_cpu_kernels_and_before_plain_torch() -> None:
    assert [backend.NAME for backend in BACKENDS] == ["fused", "triton", "reference"]


def test_without_triton_everything_else_works() -> None:
    code = """
import sys
sys.modules["triton"] = None
import torch
from mshgnn.ops import *
graph = receiver_csr(torch.tensor([[0, 1], [1, 2]]), 3, 3)
inputs = Inputs(Factored(torch.zeros(3, 4), None, 2), graph, torch.ones(2))
set_backend("reference")
harmonic_aggregate(inputs)
set_backend("triton")
try:
    harmonic_aggregate(inputs)
except ValueError as error:
    print(error)
"""
    done = python(["-c", code])
    assert done.stdout == "the triton backend does not apply: triton is not installed\n", done.stderr


def test_the_import_of_the_backend_leaves_triton_alone() -> None:
    # the rest of the house may import triton through torch: what matters is that this module adds nothing
    code = "import sys, torch, torch_geometric.utils; before = 'triton' in sys.modules; import mshgnn.ops; "
    done = python(["-c", code + "assert ('triton' in sys.modules) == before"])
    assert done.returncode == 0, done.stderr


def test_cpu_tensors_and_the_full_generator_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "is_installed", lambda: True)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    set_backend("triton")
    with pytest.raises(UserError, match=r"^the triton backend does not apply: the tensors are on cpu, not on cuda$"):
        harmonic_aggregate(factored())
    x = torch.zeros(3, 4)
    with pytest.raises(UserError, match="no kernels for the full generator"):
        harmonic_aggregate(factored()._replace(phases=Generated(x, x, torch.zeros(8, 4), torch.zeros(8), None)))


INDICES = {"rowptr", "senders", "others", "places"}
NUMBERS = {"receiver_stride", "sender_stride", "own_stride", "other_stride", "grad_stride", "num_edges", "F", "R", "K"}
PER_EDGE = {"edge_phase", "edge_weight", "grad_edge_phase", "grad_edge_weight", "grad_frequencies"}


@needs_triton
@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="triton interprets in this process")
@pytest.mark.parametrize(
    ("kernel", "absent"),
    [
        ("forward", PER_EDGE),
        ("forward", set()),
        ("backward", PER_EDGE | {"places"}),
        ("backward", {"places"}),
        ("backward", PER_EDGE),
    ],
)
@pytest.mark.parametrize("ones", [set(), {"F", "R", "K"}])  # triton compiles a number that is one into the kernel
def test_the_kernels_compile_for_a_gpu_that_is_not_there(
    kernel: str, absent: set[str], ones: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from mshgnn.ops.backends import triton_kernels

    function = getattr(triton_kernels, kernel)
    constants: dict[str, Any] = {"EDGES": 4, "BLOCKS": 4, "BANDS": 4, "PROJECTIONS": 16}
    constants |= dict.fromkeys(absent) | dict.fromkeys(ones, 1)
    constants = {name: value for name, value in constants.items() if name in function.arg_names}
    types = {name: "*i64" if name in INDICES else "i32" if name in NUMBERS else "*fp32" for name in function.arg_names}
    source = ASTSource(function, types | dict.fromkeys(constants, "constexpr"), constants)
    machine_code = compile_kernel(source, target=GPUTarget("cuda", 80, 32)).asm
    assert "sin.approx" not in machine_code["ptx"]  # its error grows with the phase
