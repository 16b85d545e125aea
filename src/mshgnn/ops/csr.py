"""Edges grouped by receiver (CSR), built once per graph and reused over layers and epochs."""

from __future__ import annotations

import weakref
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.errors import UserError

HAS_NUMBA = find_spec("numba") is not None
INDEX_DTYPES = (torch.int32, torch.int64)


class ReceiverCSR(NamedTuple):
    """The edges of a graph in receiver order.

    Edge ``e`` with ``rowptr[v] <= e < rowptr[v + 1]`` runs from ``sender[e]`` to receiver ``v``;
    ``order[e]`` is its place in the edge list the user gave.
    Shapes: ``rowptr [N + 1]``, ``sender [M]``, ``order [M]``.
    """

    rowptr: Tensor
    sender: Tensor
    order: Tensor

    @property
    def num_receivers(self) -> int:
        """Number of receivers ``N``."""
        return self.rowptr.numel() - 1

    @property
    def degree(self) -> Tensor:
        """In-degree of every receiver, ``[N]``."""
        return self.rowptr.diff()

    @property
    def receiver(self) -> Tensor:
        """Receiver of every edge, ``[M]``."""
        nodes = torch.arange(self.num_receivers, device=self.rowptr.device)
        return nodes.repeat_interleave(self.degree, output_size=self.sender.numel())


def check_range(name: str, index: Tensor, size: int) -> None:
    """Raise ``ValueError`` unless ``0 <= index < size`` everywhere."""
    if index.numel() == 0:
        return
    low, high = (int(bound) for bound in torch.aminmax(index))
    if low < 0:
        raise UserError(f"{name} holds the negative node index {low}")
    if high >= size:
        raise UserError(f"{name} holds node index {high}, but there are only {size} nodes")


def check_csr(rowptr: Tensor, sender: Tensor, num_senders: int) -> None:
    """Raise ``ValueError`` unless ``rowptr`` and ``sender`` describe a graph: no kernel runs before this."""
    if int(rowptr[0]) != 0 or int(rowptr[-1]) != sender.numel() or bool((rowptr.diff() < 0).any()):
        raise UserError(f"rowptr must rise from 0 to the number of edges, {sender.numel()}")
    check_range("sender", sender, num_senders)


@torch.library.custom_op("mshgnn::sort_by_receiver", mutates_args=())
def _sort_by_receiver(edge_index: Tensor, num_senders: int, num_receivers: int) -> tuple[Tensor, Tensor, Tensor]:
    """The sort behind :func:`receiver_csr`; opaque to ``torch.compile`` so that it may look at values."""
    check_range("edge_index[0]", edge_index[0], num_senders)
    check_range("edge_index[1]", edge_index[1], num_receivers)
    receiver = edge_index[1].contiguous()
    rowptr = torch.zeros(num_receivers + 1, dtype=torch.int64, device=edge_index.device)
    if bool((receiver[1:] >= receiver[:-1]).all()):
        torch.cumsum(torch.bincount(receiver, minlength=num_receivers), 0, out=rowptr[1:])
        order = torch.arange(receiver.numel(), device=edge_index.device)
        return rowptr, edge_index[0].clone(), order
    if HAS_NUMBA and edge_index.device.type == "cpu":
        from mshgnn.ops.sort import sort_by_receiver

        order = torch.empty(receiver.numel(), dtype=torch.int64)
        sort_by_receiver(receiver.numpy(), rowptr.numpy(), order.numpy())
    else:
        torch.cumsum(torch.bincount(receiver, minlength=num_receivers), 0, out=rowptr[1:])
        order = torch.argsort(receiver, stable=True)
    return rowptr, edge_index[0][order], order


@_sort_by_receiver.register_fake
def _(edge_index: Tensor, num_senders: int, num_receivers: int) -> tuple[Tensor, Tensor, Tensor]:
    num_edges = edge_index.size(1)
    return (
        edge_index.new_empty(num_receivers + 1, dtype=torch.int64),
        edge_index.new_empty(num_edges),
        edge_index.new_empty(num_edges, dtype=torch.int64),
    )


class _Cached(NamedTuple):
    edge_index: weakref.ref[Tensor]
    version: int
    sizes: tuple[int, int]
    csr: ReceiverCSR


class _ReceiverCache:
    """CSR by identity of the ``edge_index`` tensor; an entry dies with its tensor or an in-place change."""

    def __init__(self) -> None:
        self._entries: dict[int, _Cached] = {}

    def get(self, edge_index: Tensor, sizes: tuple[int, int]) -> ReceiverCSR:
        key = id(edge_index)
        hit = self._entries.get(key)
        state = (edge_index._version, sizes)
        if hit is not None and hit.edge_index() is edge_index and (hit.version, hit.sizes) == state:
            return hit.csr
        csr = ReceiverCSR(*_sort_by_receiver(edge_index, *sizes))
        reference = weakref.ref(edge_index, lambda _: self._entries.pop(key, None))
        self._entries[key] = _Cached(reference, edge_index._version, sizes, csr)
        return csr


_cache = _ReceiverCache()


def receiver_csr(edge_index: Tensor, num_senders: int, num_receivers: int) -> ReceiverCSR:
    """Group the edges ``edge_index [2, M]`` (row 0 senders, row 1 receivers) by receiver.

    The result is kept as long as the ``edge_index`` tensor lives, so every layer and every epoch after the first
    reuses it; changing the tensor in place sorts again.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise UserError(f"edge_index must have shape [2, num_edges], got {list(edge_index.shape)}")
    if edge_index.dtype not in INDEX_DTYPES:
        raise UserError(f"edge_index must be int32 or int64, got {edge_index.dtype}")
    # A tensor made in inference mode counts no versions, so the cache could not see it change.
    if torch.compiler.is_compiling() or torch.is_inference_mode_enabled() or edge_index.is_inference():
        return ReceiverCSR(*_sort_by_receiver(edge_index, num_senders, num_receivers))
    return _cache.get(edge_index, (num_senders, num_receivers))
