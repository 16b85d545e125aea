"""Threads, processes and the disk cache of the fused backend."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from mshgnn.ops import harmonic_aggregate, receiver_csr
from mshgnn.ops.threads import run_chunks


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def drawn_step(
    num_nodes: int = 2500, num_edges: int = 12_000, width: int = 64, projections: int = 16
) -> Callable[[], list[Tensor]]:
    """A training step on a drawn graph, always the same."""
    torch.manual_seed(0)
    x = torch.randn(num_nodes, width, requires_grad=True)
    weight = (torch.randn(projections * width, width) * 0.05).requires_grad_()
    bias = torch.randn(projections * width, requires_grad=True)
    phase = torch.randn(num_nodes, projections, requires_grad=True)
    frequencies = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    gate = torch.randn(6 * projections, requires_grad=True)
    csr = receiver_csr(torch.randint(num_nodes, (2, num_edges)), num_nodes, num_nodes)
    leaves = [x, weight, bias, phase, frequencies, gate]

    def step() -> list[Tensor]:
        total, gated = harmonic_aggregate(x, x, weight, bias, phase, csr, frequencies, gate=gate)
        assert gated is not None
        return [total.detach(), gated.detach(), *torch.autograd.grad(total.sum() + gated.square().sum(), leaves)]

    return step


def assert_same_bits(results: list[list[Tensor]]) -> None:
    for other in results[1:]:
        for expected, found in zip(results[0], other, strict=True):
            assert torch.equal(expected, found)


def test_same_bits_on_any_number_of_threads() -> None:
    results = []
    for threads in (1, 2, 4, 1, 2):
        torch.set_num_threads(threads)
        results.append(drawn_step()())
    assert_same_bits(results)


def test_same_bits_in_python_threads_side_by_side() -> None:
    torch.set_num_threads(2)
    step = drawn_step()
    results = [step()]
    workers = [threading.Thread(target=lambda: results.append(step())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 5
    assert_same_bits(results)
    assert torch.get_num_threads() == 2


def test_matrix_products_inside_a_chunk_have_one_thread() -> None:
    # with more, BLAS may cut a sum in two, and the bits depend on the number of threads
    for threads in (1, 2, 4, 2):
        torch.set_num_threads(threads)
        seen: list[int] = []
        run_chunks(lambda chunk, seen=seen: seen.append(torch.get_num_threads()), 8)  # type: ignore[misc]
        assert seen == [1] * 8


def test_torch_keeps_its_threads() -> None:
    torch.set_num_threads(2)
    drawn_step()()
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    worker = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    worker.start()
    worker.join()
    assert seen == [2]


@pytest.mark.parametrize("order", ["import torch, numba", "import numba, torch"])
def test_both_import_orders(order: str) -> None:
    code = f"""
{order}
torch.set_num_threads(2)
from mshgnn.ops import harmonic_aggregate, receiver_csr
x = torch.randn(3000, 32)
csr = receiver_csr(torch.randint(3000, (2, 6000)), 3000, 3000)
harmonic_aggregate(x, x, torch.randn(512, 32), torch.randn(512), None, csr, torch.ones(1))
print(torch.get_num_threads(), numba.threading_layer() if numba.np.ufunc.parallel._is_initialized else "not started")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == ["2", "not started\n"]


def _run_in_child(queue: multiprocessing.Queue[list[int]]) -> None:
    done: list[int] = []
    run_chunks(done.append, 5)
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
        assert queue.get(timeout=30) == [0, 1, 2, 3, 4]
    finally:
        process.kill()
        process.join(timeout=10)


def test_an_error_in_a_chunk_is_raised() -> None:
    def work(chunk: int) -> None:
        if chunk == 3:
            raise RuntimeError("chunk three")

    for threads in (1, 2):
        torch.set_num_threads(threads)
        with pytest.raises(RuntimeError, match="chunk three"):
            run_chunks(work, 5)


def test_only_the_first_process_compiles(tmp_path: os.PathLike[str]) -> None:
    code = """
import torch
from mshgnn.ops import harmonic_aggregate, receiver_csr
torch.manual_seed(0)
x = torch.randn(20, 8)
csr = receiver_csr(torch.randint(20, (2, 60)), 20, 20)
print(harmonic_aggregate(x, x, torch.randn(64, 8), torch.randn(64), None, csr, torch.ones(1))[0].sum().item())
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    assert runs[0].stderr.count("mshgnn: compiling CPU kernels") == 1
    assert "compiling" not in runs[1].stderr
    assert runs[0].stdout == runs[1].stdout
