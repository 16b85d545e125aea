"""Workers: processes that train one model together, each on its share of every batch.

Every worker holds the data set, the same weights and the same random numbers. A batch is drawn by all of them alike and
cut into as many pieces as there are workers, so their number decides neither batches nor order. Gradients are summed
over the targets of all pieces and divided once by their count: the gradient of the whole batch. One process alone sends
nothing and computes what it always did.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from mshgnn.errors import Failure
from mshgnn.training.attempt import agree_on_attempt

Value = TypeVar("Value")


class WorkerLost(Failure):
    """Another worker died or cannot be reached: none of them can go on."""


@dataclass
class Traffic:
    """What one worker has sent: how often all of them met, and the bytes of a ring."""

    meetings: int = 0
    sent_bytes: float = 0.0


class Counters(Protocol):
    """What of a store of torch is used: numbers that all workers count up."""

    def add(self, key: str, amount: int) -> int:
        """The number after counting up."""


class Workers:
    """This process, the ``rank``-th of ``size`` workers. All of them call the same methods in the same order.

    Args:
        rank: from 0; the first worker alone reads and writes files of the training and speaks to the user.
        size: how many there are; 1 is a process by itself.
        store: where workers leave each other a word outside a meeting, ``None`` for a process by itself.
    """

    def __init__(self, rank: int = 0, size: int = 1, store: Counters | None = None) -> None:
        self.rank, self.size, self._store = rank, size, store
        self.traffic = Traffic()

    @property
    def is_first(self) -> bool:
        """Whether this worker reads, writes and speaks for all."""
        return self.rank == 0

    @property
    def are_several(self) -> bool:
        """Whether there is anyone to meet."""
        return self.size > 1

    def share(self, chosen: Tensor) -> Tensor:
        """This worker's piece of a batch: neighbours in its order, so that all pieces in turn are the batch."""
        return chosen.tensor_split(self.size)[self.rank]

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all workers, with the same bits everywhere; it is written into ``tensor``."""
        if self.are_several:
            self._meet(2 * (self.size - 1) / self.size * tensor.nbytes, dist.all_reduce, tensor)
        return tensor

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all workers, ``[size, ...]``; they have one shape."""
        if not self.are_several:
            return tensor.unsqueeze(0)
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        self._meet((self.size - 1) * tensor.nbytes, dist.all_gather, found, tensor.contiguous())
        return torch.stack(found)

    def agree(self, value: Value) -> Value:
        """What the first worker has; what the others bring does not count."""
        if not self.are_several:
            return value
        said: list[Any] = [value]
        self._meet(0.0, dist.broadcast_object_list, said)
        return said[0]

    def start_alike(self, module: nn.Module) -> None:
        """Give every worker the first one's weights and statistics: unlike processors may round unlike."""
        if self.are_several:
            tensors = [t.detach() for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()]
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            self._meet(flat.nbytes, dist.broadcast, flat, 0)
            for tensor, piece in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
                tensor.copy_(piece.view_as(tensor))

    def mean_gradients(self, parameters: Sequence[nn.Parameter], count: Tensor) -> None:
        """From gradients of sums over ``count`` own targets to those of the mean over everyone's targets.

        A parameter that no worker used has no gradient, as with one process; one that some used counts as zero
        elsewhere.
        """
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        used = torch.tensor([p.grad is not None for p in parameters], dtype=count.dtype, device=count.device)
        flat = torch.cat([*(gradient.reshape(-1) for gradient in gradients), used, count.reshape(1)])
        lengths = [*(gradient.numel() for gradient in gradients), len(gradients), 1]
        *pieces, used, total = torch.split(self.sum(flat), lengths)
        total = total.where(total > 0, torch.ones_like(total))
        for parameter, piece, users in zip(parameters, pieces, used.tolist(), strict=True):
            parameter.grad = (piece / total).view_as(parameter) if users else None

    def is_first_to_fail(self) -> bool:
        """Whether nobody has failed before: what went wrong is told once. A worker by itself always tells."""
        if self._store is None:
            return True
        try:
            return self._store.add("mshgnn/failed", 1) == 1
        except RuntimeError:  # nobody is left to ask
            return True

    def _meet(self, sent: float, collective: Callable[..., object], *arguments: object) -> None:
        self.traffic.meetings += 1
        self.traffic.sent_bytes += sent
        try:
            collective(*arguments)
        except RuntimeError as error:  # what gloo and NCCL raise when a peer is gone
            raise WorkerLost("another worker was lost: the same command goes on from what is kept") from error


ALONE = Workers()


@contextmanager
def join() -> Iterator[Workers]:
    """The workers among which ``torchrun`` or Ray Train started this process; ``ALONE`` for any other process."""
    if dist.is_available() and dist.is_initialized():  # by Ray Train, which also ends it
        yield Workers(dist.get_rank(), dist.get_world_size())
        return
    if not (dist.is_available() and dist.is_torchelastic_launched()) or os.environ.get("WORLD_SIZE", "1") == "1":
        yield ALONE
        return
    cards = torch.cuda.is_available()
    if cards:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        store, rank, size = next(iter(rendezvous("env://")))
        own: Any = PrefixStore(agree_on_attempt(store, rank, size), store)
        dist.init_process_group("cpu:gloo,cuda:nccl" if cards else "gloo", store=own, rank=rank, world_size=size)
    except RuntimeError as error:
        raise WorkerLost("another worker was lost while all of them started") from error
    yield Workers(rank, size, own)
    dist.destroy_process_group()  # after a failure the end of the process does it, and waits for nobody
