"""Edges grouped by receiver (CSR), built once per graph and reused over layers and epochs."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.seen import Seen

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


class EdgeList(NamedTuple):
    """The edges in the order given, for traces: a sort would bake the traced graph in.

    The same words as :class:`ReceiverCSR`, for the reference backend alone. Shapes: ``sender [M]``, ``receiver [M]``.
    """

    sender: Tensor
    receiver: Tensor
    order: Tensor
    num_receivers: int

    @property
    def degree(self) -> Tensor:
        """In-degree of every receiver, ``[N]``."""
        return sum_rows(torch.ones_like(self.receiver), self.receiver, self.num_receivers)


Graph = ReceiverCSR | EdgeList


def check_range(name: str, index: Tensor, size: int) -> None:
    """Raise ``UserError`` unless ``0 <= index < size`` everywhere."""
    if index.numel() == 0:
        return
    low, high = (int(bound) for bound in torch.aminmax(index))
    if low < 0:
        raise UserError(f"{name} holds the negative node index {low}")
    if high >= size:
        raise UserError(f"{name} holds node index {high}, but there are only {size} nodes")


def check_csr(rowptr: Tensor, sender: Tensor, num_senders: int) -> None:
    """Raise ``UserError`` unless ``rowptr`` and ``sender`` describe a graph: no kernel runs before this."""
    if int(rowptr[0]) != 0 or int(rowptr[-1]) != sender.numel() or bool((rowptr.diff() < 0).any()):
        raise UserError(f"rowptr must rise from 0 to the number of edges, {sender.numel()}")
    check_range("sender", sender, num_senders)


@torch.library.custom_op("mshgnn::sort_by_receiver", mutates_args=())
def _sort_by_receiver(edge_index: Tensor, num_senders: int, num_receivers: int) -> tuple[Tensor, Tensor, Tensor]:
    """The sort behind :func:`receiver_csr`; opaque to ``torch.compile`` so that it may look at values."""
    from mshgnn.ops.backends import get_backend, reference  # which are above this module
    from mshgnn.ops.backends.cpu.threads import safe_after_fork

    compiles = edge_index.device.type == "cpu" and get_backend() != reference.NAME
    with safe_after_fork():
        return _sort(edge_index, num_senders, num_receivers, compiles)


def _sort(edge_index: Tensor, num_senders: int, num_receivers: int, compiles: bool) -> tuple[Tensor, Tensor, Tensor]:
    # A copy is checked, then sorted: whoever writes to the original meanwhile cannot get past the check.
    sender, receiver = edge_index.clone(memory_format=torch.contiguous_format).unbind(0)
    check_range("edge_index[0]", sender, num_senders)
    check_range("edge_index[1]", receiver, num_receivers)
    rowptr = torch.zeros(num_receivers + 1, dtype=torch.int64, device=edge_index.device)
    if bool((receiver[1:] >= receiver[:-1]).all()):
        torch.cumsum(torch.bincount(receiver, minlength=num_receivers), 0, out=rowptr[1:])
        return rowptr, sender.clone(), torch.arange(receiver.numel(), device=edge_index.device)
    if compiles:
        from mshgnn.ops.backends.cpu.sort import sort_by_receiver

        order = torch.empty(receiver.numel(), dtype=torch.int64)
        sort_by_receiver(receiver.numpy(), rowptr.numpy(), order.numpy())
    else:
        torch.cumsum(torch.bincount(receiver, minlength=num_receivers), 0, out=rowptr[1:])
        order = torch.argsort(receiver, stable=True)
    return rowptr, sender[order], order


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
    seen: Seen
    sizes: tuple[int, int]
    csr: ReceiverCSR


class _ReceiverCache:
    """CSR by identity of the ``edge_index`` tensor; an entry dies with its tensor or a change (see :class:`Seen`)."""

    def __init__(self) -> None:
        self._entries: dict[int, _Cached] = {}

    def get(self, edge_index: Tensor, sizes: tuple[int, int]) -> ReceiverCSR:
        key = id(edge_index)
        hit = self._entries.get(key)
        if hit is not None and hit.edge_index() is edge_index and hit.sizes == sizes and hit.seen.fits(edge_index):
            return hit.csr
        csr = ReceiverCSR(*_sort_by_receiver(edge_index, *sizes))
        if type(csr.rowptr) is not Tensor:  # a fake one, of real edges seen among fake tensors
            return csr
        reference = weakref.ref(edge_index, lambda _: self._entries.pop(key, None))
        self._entries[key] = _Cached(reference, Seen(edge_index), sizes, csr)
        return csr


_cache = _ReceiverCache()


def is_traced() -> bool:
    """Is a trace being recorded (``torch.jit.trace`` and ONNX by it), which must not depend on this graph's values?"""
    return torch._C._get_tracing_state() is not None


def sum_rows(rows: Tensor, owner: Tensor, count: int) -> Tensor:
    """The sum of the rows ``[M, *]`` of each of ``count`` owners, who are named row by row: ``[count, *]``."""
    zeros = rows.new_zeros(count, *rows.shape[1:])
    if is_traced():  # ONNX takes an index_add for a copy: of several rows of one owner the last would be left
        return zeros.scatter_add(0, owner.view(-1, *[1] * (rows.dim() - 1)).expand_as(rows), rows)
    return zeros.index_add(0, owner, rows)


def receiver_csr(edge_index: Tensor, num_senders: int, num_receivers: int) -> ReceiverCSR:
    """Group the edges ``edge_index [2, M]`` (row 0 senders, row 1 receivers) by receiver.

    The result is kept as long as the ``edge_index`` tensor lives, so every layer and every epoch after the first
    reuses it; changing the tensor in place sorts again.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise UserError(f"edge_index must have shape [2, num_edges], got {list(edge_index.shape)}")
    if edge_index.dtype not in INDEX_DTYPES:
        raise UserError(f"edge_index must be int32 or int64, got {edge_index.dtype}")
    if torch.compiler.is_compiling() or not _is_watched(edge_index):
        return ReceiverCSR(*_sort_by_receiver(edge_index, num_senders, num_receivers))
    return _cache.get(edge_index, (num_senders, num_receivers))


def _is_watched(tensor: Tensor) -> bool:
    """Whether torch counts the changes of a tensor: not in inference mode, and a fake tensor has no content."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter)
    return plain and not torch.is_inference_mode_enabled() and not tensor.is_inference()
