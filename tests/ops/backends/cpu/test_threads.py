"""Threads, processes and the disk cache of the kernels."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from aggregate_cases import (
    KINDS,
    assert_same_bits,
    draw_factored,
    draw_generated,
    draw_kind,
    everything,
    make_case,
    nearby_edges,
    random_edges,
    run,
)
from torch import Tensor

from mshgnn.ops.backends.cpu import plan
from mshgnn.ops.backends.cpu.threads import run_chunks
from mshgnn.ops.inputs import GateActivation


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def large_step(kind: str, gate: GateActivation | None = "sigmoid") -> Callable[[], dict[str, Tensor]]:
    """A training step on a drawn graph large enough for several chunks, always the same."""
    if kind == "generated":
        case = make_case(
            draw_generated(2500, 2500, width=64, projections=16), random_edges(2500, 2500, 12_000), gate=gate
        )
    else:
        phases = draw_factored(20_000, 20_000, projections=16, one_table=kind == "one table")
        case = make_case(phases, nearby_edges(20_000, 250_000), frequencies=(1.0,), gate=gate)
    return partial(run, case)


def on_threads(step: Callable[[], dict[str, Tensor]], counts: tuple[int, ...]) -> list[dict[str, Tensor]]:
    results = []
    for threads in counts:
        torch.set_num_threads(threads)
        results.append(step())
    return results


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_on_any_number_of_threads(kind: str) -> None:
    assert_same_bits(*on_threads(large_step(kind), (1, 2, 4, 1, 2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gate", [None, "sigmoid", "softmax"])
def test_same_bits_with_many_small_chunks(
    kind: str, gate: GateActivation | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "CHUNK_WORK", 2**13)
    for edges in (nearby_edges(300, 2000), random_edges(300, 300, 2000)):
        assert_same_bits(*on_threads(partial(run, everything(draw_kind(kind, 300), edges, gate)), (1, 2, 4, 2)))


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_in_python_threads_side_by_side(kind: str) -> None:
    torch.set_num_threads(2)
    step = large_step(kind)
    results = [step()]
    workers = [threading.Thread(target=lambda: results.append(step())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 5
    assert_same_bits(*results)
    assert torch.get_num_threads() == 2


def mkl_threads() -> int:
    """Threads on which a matrix product that this thread calls would compute."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    return int(library.MKL_Get_Max_Threads())


@pytest.mark.skipif(not torch._C.has_mkl, reason="torch without MKL")
@pytest.mark.parametrize("count", [1, 8])
def test_matrix_products_inside_a_chunk_have_one_thread(count: int) -> None:
    # with more, BLAS may cut a sum in two, and the bits depend on the number of threads
    for threads in (1, 2, 4, 2):
        torch.set_num_threads(threads)
        seen: list[int] = []
        run_chunks(lambda chunk, seen=seen: seen.append(mkl_threads()), count, with_blas=True)  # type: ignore[misc]
        assert seen == [1] * count
        assert torch.get_num_threads() == mkl_threads() == threads


def test_a_thread_born_during_a_pass_has_the_threads_that_torch_was_told() -> None:
    torch.set_num_threads(4)
    seen: list[int] = []

    def ask() -> None:
        seen.append(torch.get_num_threads())

    def work(chunk: int) -> None:
        newborn = threading.Thread(target=ask)
        newborn.start()
        newborn.join()

    run_chunks(work, 4, with_blas=True)
    assert seen == [4] * 4


def test_a_setting_made_during_a_pass_stays() -> None:
    torch.set_num_threads(2)

    def work(chunk: int) -> None:
        if chunk == 0:
            user = threading.Thread(target=torch.set_num_threads, args=(3,))
            user.start()
            user.join()

    run_chunks(work, 1, with_blas=True)
    seen: list[int] = []
    newborn = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    newborn.start()
    newborn.join()
    assert seen == [3]


@pytest.mark.parametrize("with_blas", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 16])
def test_every_chunk_is_done_once(count: int, with_blas: bool) -> None:
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        done: list[int] = []
        run_chunks(done.append, count, with_blas=with_blas)
        assert sorted(done) == list(range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_torch_keeps_its_threads(kind: str) -> None:
    torch.set_num_threads(2)
    large_step(kind)()
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    worker = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    worker.start()
    worker.join()
    assert seen == [2]


CALLS = """
from mshgnn.ops import Factored, Generated, Inputs, harmonic_aggregate, receiver_csr
torch.manual_seed(0)
x = torch.randn(3000, 8)
graph = receiver_csr(torch.randint(3000, (2, 6000)), 3000, 3000)
full = Generated(x, x, torch.randn(64, 8), torch.randn(64), None)
sums = [harmonic_aggregate(Inputs(phases, graph, torch.ones(1)))[0] for phases in (full, Factored(x, x, 8))]
"""
"""Both kinds of phases, in a process of their own."""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("order", ["import torch, numba", "import numba, torch"])
def test_both_import_orders(order: str) -> None:
    code = f"""
{order}
torch.set_num_threads(2)
{CALLS}
print(torch.get_num_threads(), numba.threading_layer() if numba.np.ufunc.parallel._is_initialized else "not started")
"""
    assert python(code).stdout.split(maxsplit=1) == ["2", "not started\n"]


def _run_in_child(queue: multiprocessing.Queue[list[int]]) -> None:
    done: list[int] = []
    run_chunks(done.append, 5)
    run_chunks(done.append, 5, with_blas=True)
    queue.put(sorted(done))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_the_threads_of_its_parent() -> None:
    torch.set_num_threads(2)
    run_chunks(lambda chunk: None, 5)
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    process = context.Process(target=_run_in_child, args=(queue,))
    process.start()
    try:
        assert queue.get(timeout=30) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    finally:
        process.kill()
        process.join(timeout=10)


FORK_FIRST = """
import os, signal, numpy, torch
torch.set_num_threads(2)
torch.randn(2000, 2000).exp().sum()  # wakes OpenMP's threads, which no child has
child = os.fork()
if child == 0:
    signal.alarm(200)
    {calls}
    os._exit(0 if all(numpy.isfinite(total.numpy()).all() for total in sums) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("imported", ["", "import mshgnn.ops"], ids=["import after the fork", "import before it"])
def test_a_fork_before_the_first_call_does_not_hang(imported: str) -> None:
    code = imported + FORK_FIRST.format(calls=CALLS.replace("\n", "\n    "))
    assert python(code).stdout.split() == ["0"]


LAYER = """
import os, signal, torch
from mshgnn import MSHConv
torch.set_num_threads(2)
torch.manual_seed(0)
x, edges = torch.randn(3000, 64), torch.randint(3000, (2, 6000))
layers = [MSHConv(64, 64, rank=rank) for rank in (None, 2)]
def step():
    out = torch.stack([layer(x, edges) for layer in layers])
    return [out.detach(), *torch.autograd.grad(out.square().sum(), [layer.root.weight for layer in layers])]
expected = step()
child = os.fork()
if child == 0:
    signal.alarm(60)
    torch.testing.assert_close(step(), expected)  # torch's own products round by the number of their threads
    os._exit(torch.get_num_threads() - 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.get_num_threads())
"""


def test_a_whole_layer_trains_on_in_a_forked_process_and_the_parent_keeps_its_threads() -> None:
    assert python(LAYER).stdout.split() == ["0", "2"]


@pytest.mark.parametrize("with_blas", [False, True])
def test_an_error_in_a_chunk_is_raised(with_blas: bool) -> None:
    def work(chunk: int) -> None:
        if chunk == 3:
            raise RuntimeError("chunk three")

    for threads in (1, 2):
        torch.set_num_threads(threads)
        with pytest.raises(RuntimeError, match="chunk three"):
            run_chunks(work, 5, with_blas=with_blas)
        assert torch.get_num_threads() == threads


def test_only_the_first_process_compiles(tmp_path: os.PathLike[str]) -> None:
    code = f"import torch\n{CALLS}\nprint(*(total.sum().item() for total in sums))"
    runs = [python(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert runs[0].stderr.count("mshgnn: compiling CPU kernels") == 2
    assert "compiling" not in runs[1].stderr
    assert runs[0].stdout == runs[1].stdout
