"""Several real processes that meet on the loopback."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from mshgnn.training.parallel import Workers

GRACE = 3.0
"""Seconds in which the others may end by themselves after a kill; then they are killed too, as torchrun does."""


class Kill(NamedTuple):
    rank: int
    seconds: float


def together(size: int, function: Callable[..., Any], *arguments: Any, kill: Kill | None = None) -> list[Any]:
    """What ``function(workers, *arguments)`` returns in each of ``size`` workers; ``None`` from one that died.

    ``kill`` ends one worker by SIGKILL after some seconds.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mshgnn.lab.fold"])
    with tempfile.TemporaryDirectory() as folder:
        pipes, processes = [], []
        for rank in range(size):
            ours, theirs = context.Pipe(duplex=False)
            given = (rank, size, f"{folder}/store", theirs, function, arguments)
            processes.append(context.Process(target=_worker, args=given, daemon=True))
            processes[-1].start()
            theirs.close()
            pipes.append(ours)
        if kill is not None:
            processes[kill.rank].join(kill.seconds)
            processes[kill.rank].kill()
        found = [_received(pipe, None if kill is None else GRACE) for pipe in pipes]
        for process in processes:
            if kill is not None:
                process.kill()
            process.join()
    return found


def _received(pipe: Connection, seconds: float | None) -> Any:
    try:
        return pipe.recv() if pipe.poll(seconds) else None
    except EOFError:
        return None


def _worker(
    rank: int, size: int, path: str, pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = dist.FileStore(path, size)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    pipe.send(function(Workers(rank, size, store), *arguments))
    dist.destroy_process_group()
