"""A stable counting sort of edges by receiver: linear in nodes and edges, no temporary memory."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from mshgnn.compiled import compiled

# ``rowptr`` comes in as zeros ``[N + 1]``, ``order`` empty ``[M]``
_SIGNATURES = ["void(i8[::1],i8[::1],i8[::1])", "void(i4[::1],i8[::1],i8[::1])"]


@compiled(_SIGNATURES, nogil=True, boundscheck=False)
def sort_by_receiver(receiver, rowptr, order):
    """Fill ``rowptr`` and ``order`` for receivers that lie in ``0 <= receiver < N``."""
    num_receivers = rowptr.size - 1
    for e in range(receiver.size):
        rowptr[receiver[e] + 1] += 1
    for v in range(num_receivers):
        rowptr[v + 1] += rowptr[v]
    # rowptr[v] is the next free place of v while the edges are dealt out; afterwards it is where v + 1 begins
    for e in range(receiver.size):
        v = receiver[e]
        order[rowptr[v]] = e
        rowptr[v] += 1
    for v in range(num_receivers, 0, -1):
        rowptr[v] = rowptr[v - 1]
    rowptr[0] = 0
