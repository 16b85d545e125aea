"""One layer and one encoder in several threads, and in forked processes: the numbers of one thread alone."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

import torch
from aggregate_cases import run
from torch import Tensor

from fuzz.kernels import draw_case, draw_edges
from fuzz.targets import Target
from mshgnn.machine import threads
from mshgnn.nn import MSHConv
from mshgnn.nn.encoder import Encoder
from mshgnn.ops.backends.cpu import plan

WIDTH = 5
WORKERS = 4
CHILD_SECONDS = 60


class Work(NamedTuple):
    """A layer behind an encoder, shared by all threads."""

    encoder: Encoder
    layers: list[MSHConv]

    def step(self, x: Tensor, edge_index: Tensor) -> list[Tensor]:
        """Output and gradients of one step on sparse features."""
        hidden = self.encoder(x.to_sparse_csr())
        for layer in self.layers:
            hidden = layer(hidden, edge_index)
        weights = [self.encoder.weight, *(p for layer in self.layers for p in layer.parameters())]
        found = torch.autograd.grad(hidden.square().sum(), weights, allow_unused=True)
        return [hidden.detach(), *(gradient for gradient in found if gradient is not None)]


@contextmanager
def shared_work() -> Iterator[Work]:
    """Both generators, in evaluation: training keeps statistics of the rows it sees."""
    before = torch.get_num_threads()
    torch.manual_seed(0)
    layers = [MSHConv(WIDTH, WIDTH, num_projections=4, rank=rank).eval() for rank in (None, 2)]
    work = Work(Encoder(WIDTH, WIDTH), layers)
    work.step(torch.eye(WIDTH), torch.tensor([[0, 1], [1, 0]]))  # compiles
    yield work
    torch.set_num_threads(before)


def draw_graph(draw: random.Random) -> tuple[Tensor, Tensor]:
    nodes = draw.randint(1, 40)
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    x = torch.rand(nodes, WIDTH, generator=generator)
    return x * (x > 0.5), draw_edges(draw, nodes, nodes).long()


def in_threads(draw: random.Random, work: Work) -> None:
    told = draw.choice([1, 2, 3])
    torch.set_num_threads(told)
    graphs = [draw_graph(draw) for _ in range(WORKERS)]
    expected = [work.step(*graph) for graph in graphs]
    found: dict[int, list[list[Tensor]]] = {turn: [] for turn in range(WORKERS)}
    seen: list[int] = []

    def go(turn: int) -> None:
        for _ in range(3):
            found[turn].append(work.step(*graphs[turn]))
        seen.append(torch.get_num_threads())

    workers = [threading.Thread(target=go, args=(turn,)) for turn in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [told] * WORKERS, f"threads saw {seen} torch threads, not {told}"
    for turn in range(WORKERS):
        assert len(found[turn]) == 3
        for step in found[turn]:
            assert all(map(torch.equal, step, expected[turn])), "a thread got other numbers"


def in_a_fork(draw: random.Random, work: Work) -> None:
    """The operators alone, and whole layers with torch's own operators between them."""
    torch.set_num_threads(draw.choice([1, 2]))
    case, graph = draw_case(draw), draw_graph(draw)

    with patch.object(plan, "CHUNK_WORK", draw.choice([plan.CHUNK_WORK, 256])):
        expected = None
        if draw.random() < 0.5:  # or the child's call is the first
            ours = list(run(case).values())
            with threads(1):  # torch's own products round by the number of their threads; a forked process has one
                expected = [*ours, *work.step(*graph)]
        if draw.random() < 0.5:  # torch's threads are awake at the fork
            torch.ones(200_000).exp()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(CHILD_SECONDS)
                found = [*run(case).values(), *work.step(*graph)]
                code = 0 if expected is None or all(map(torch.equal, found, expected)) else 2
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, f"the forked process ended with {code}"


THREADS = (
    Target(
        "threads",
        "Several Python threads get the bits of one alone, and torch's setting.",
        2_000,
        in_threads,
        shared_work,
    ),
    Target("forks", "A forked process computes the same bits and does not hang.", 500, in_a_fork, shared_work),
)
