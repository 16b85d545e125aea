"""The graphs of a batch as one padded rectangle, and attention in it whose scores never stand in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mshgnn.models.memory import check_memory

BLOCK_ELEMENTS = 2**24
"""Scores that stand in memory at once, 64 MB of them; above, rows are computed in blocks, and again in the backward."""


class Rectangle:
    """Where every node of a batch stands in ``[G, n]``, with ``n`` the nodes of the largest graph.

    Nodes of a graph keep their order, which is the order of its structure's pairs.

    Args:
        batch: graph of every node ``[N]``, in any order.
        batch_size: number of graphs.
    """

    def __init__(self, batch: Tensor, batch_size: int) -> None:
        self.counts = torch.bincount(batch, minlength=batch_size)
        self.graphs, self.nodes = batch_size, int(self.counts.max()) if batch.numel() else 0
        order = batch.argsort(stable=True)
        first = self.counts.cumsum(0) - self.counts
        position = torch.empty_like(batch)
        position[order] = torch.arange(len(batch), device=batch.device) - first[batch[order]]
        self.place = batch * self.nodes + position
        self.mask = torch.zeros(batch_size * self.nodes, dtype=torch.bool, device=batch.device)
        self.mask[self.place] = True
        self.mask = self.mask.view(batch_size, self.nodes)
        """Whether there is a node: ``[G, n]``."""

    def spread(self, rows: Tensor) -> Tensor:
        """Rows of nodes ``[N, *]`` as ``[G, n, *]``, zero where there is no node."""
        flat = rows.new_zeros(self.graphs * self.nodes, *rows.shape[1:])
        return flat.index_copy(0, self.place, rows).view(self.graphs, self.nodes, *rows.shape[1:])

    def collect(self, spread: Tensor) -> Tensor:
        """The rows ``[N, *]`` of the nodes in ``[G, n, *]``."""
        return spread.reshape(self.graphs * self.nodes, *spread.shape[2:])[self.place]

    def spread_pairs(self, pairs: Tensor) -> Tensor:
        """Pairs of nodes, graph by graph and row by row ``[sum n_g^2]``, as ``[G, n, n]``, else zero."""
        shape = (self.graphs, self.nodes, self.nodes)
        self._check(pairs.element_size())
        if len(pairs) == self.graphs * self.nodes**2:
            return pairs.view(shape)
        spread = pairs.new_zeros(shape)
        both = self.mask.unsqueeze(2) & self.mask.unsqueeze(1)
        return spread.masked_scatter(both, pairs)

    def edges(self, edge_index: Tensor) -> Tensor:
        """Whether there is an edge, receivers as rows: ``[G, n, n]``."""
        self._check(1)
        found = self.mask.new_zeros(self.graphs * self.nodes * self.nodes)
        sender, receiver = self.place[edge_index]
        found[receiver * self.nodes + sender % max(self.nodes, 1)] = True
        return found.view(self.graphs, self.nodes, self.nodes)

    def _check(self, bytes_per_pair: int) -> None:
        what = f"every pair of nodes in {self.graphs:,} graphs of up to {self.nodes:,} nodes"
        check_memory(what, bytes_per_pair * self.graphs * self.nodes**2)


def by_rows(
    function: Callable[..., Tensor], by_row: Sequence[Tensor], whole: Sequence[Tensor], elements: int, dim: int = -2
) -> Tensor:
    """``function(*by_row, *whole)`` in blocks of rows, so that what it makes per row fits into ``BLOCK_ELEMENTS``.

    With more than one block the backward pass computes each anew: memory is that of a block, and the result the same.

    Args:
        function: maps rows to rows, each for itself.
        by_row: tensors with the rows in dimension ``dim``.
        whole: tensors that every row looks at.
        elements: numbers that the function makes per row.
        dim: the dimension of the rows, also of the result.
    """
    rows = by_row[0].size(dim)
    block = max(1, BLOCK_ELEMENTS // max(elements, 1))
    if rows <= block:
        return function(*by_row, *whole)
    parts = [
        checkpoint(function, *(t.narrow(dim, low, min(block, rows - low)) for t in by_row), *whole, use_reentrant=False)
        for low in range(0, rows, block)
    ]
    return torch.cat(parts, dim=dim)


def split_heads(h: Tensor, heads: int) -> Tensor:
    """``[G, n, d]`` as ``[G, heads, n, d / heads]``."""
    return h.reshape(*h.shape[:-1], heads, h.size(-1) // heads).transpose(1, 2)


def join_heads(h: Tensor) -> Tensor:
    """``[G, heads, n, d / heads]`` as ``[G, n, d]``."""
    return h.transpose(1, 2).flatten(2)
