r"""The neighbourhood of every edge, for messages that are computed on it.

:math:`G_p` is the induced subgraph of ``p`` and its neighbours, :math:`G_{pq}` that of :math:`G_p \cup G_q`, for every
edge :math:`p \to q` and every :math:`p \to p`. Four lists:

- ``pair``: ``(p, x)`` with ``x`` in :math:`G_p`, where node features live; ``pair_node`` is ``x``.
- ``copy``: ``(p -> q, x)`` with ``x`` in :math:`G_{pq}`; ``copy_from`` is the pair ``(p, x)`` and ``copy_to`` the pair
  ``(q, x)``, -1 where there is none; ``copy_marks`` say whether ``x`` is ``p`` and whether it is ``q``.
- ``inner``: the edges of all :math:`G_{pq}` as ``inner_ends`` ``[rows, 2]``, pointing into ``copy``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops, to_undirected

from mshgnn.machine import check_memory
from mshgnn.structure.kind import Structure
from mshgnn.structure.ragged import Ragged

BYTES_PER_COPY, BYTES_PER_INNER = 120, 80


def edge_neighbourhoods() -> Structure:
    """The kind: neighbourhoods of one hop."""
    return Structure("edge-neighbourhoods-1", compute, "edges in the neighbourhoods of all edges")


def compute(graph: Data) -> dict[str, Ragged]:
    """All lists of one graph; edges count in both directions, loops and repeats do not."""
    n = int(graph.num_nodes)
    edges, _ = remove_self_loops(graph.edge_index.long())
    loops = torch.arange(n).expand(2, -1)
    # Sorted by the first end, then the second, without repeats: the pairs (p, x), and also the messages p -> q.
    pairs = torch.unique(torch.cat([to_undirected(edges, num_nodes=n), loops], dim=1), dim=1)
    sizes = torch.bincount(pairs[0], minlength=n)
    starts = sizes.cumsum(0) - sizes
    _check_size(pairs, sizes)

    message = torch.arange(pairs.size(1))
    around_p, around_q = (_expand(end, sizes, starts) for end in pairs)
    keys = torch.unique(torch.cat([message[owner] * n + pairs[1][row] for owner, row in (around_p, around_q)]))
    of, x = (keys // n, keys % n) if n else (keys, keys)
    ends = pairs[:, of]
    pair_keys = pairs[0] * n + pairs[1]
    owner, row = _expand(x, sizes, starts)
    there = _find(keys, of[owner] * n + pairs[1][row])
    inner = torch.stack([owner, there], dim=1)[(there >= 0) & (there != owner)]
    return {
        "pair_node": Ragged(pairs[1], "pair", "node"),
        "copy_from": Ragged(_find(pair_keys, ends[0] * n + x), "copy", "pair"),
        "copy_to": Ragged(_find(pair_keys, ends[1] * n + x), "copy", "pair"),
        "copy_marks": Ragged((ends == x).t().contiguous(), "copy"),
        "inner_ends": Ragged(inner, "inner", "copy"),
    }


def _expand(centre: Tensor, sizes: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """For every row of ``centre`` the pairs of that node: which row it was, and which pair."""
    counts = sizes[centre]
    owner = torch.repeat_interleave(torch.arange(len(centre)), counts)
    first = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    return owner, starts[centre][owner] + torch.arange(len(owner)) - first


def _find(ordered: Tensor, wanted: Tensor) -> Tensor:
    """Where each wanted number stands among ordered ones, -1 where it does not."""
    if not len(ordered):
        return torch.full_like(wanted, -1)
    place = torch.searchsorted(ordered, wanted).clamp(max=len(ordered) - 1)
    return torch.where(ordered[place] == wanted, place, -1)


def _check_size(pairs: Tensor, sizes: Tensor) -> None:
    """Refuse a graph whose lists would be too large, from its degrees alone."""
    copies = int((sizes[pairs[0]] + sizes[pairs[1]]).sum())
    around = torch.zeros_like(sizes).index_add_(0, pairs[0], sizes[pairs[1]])
    inner = 2 * int((sizes * around).sum())
    what = f"edge neighbourhoods of {len(sizes):,} nodes ({copies:,} copies of nodes)"
    check_memory(what, BYTES_PER_COPY * copies + BYTES_PER_INNER * inner)
