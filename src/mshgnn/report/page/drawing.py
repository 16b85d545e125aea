"""A small graph as a short text, so that thousands fit on a page.

``coordinates|edges|labels|centre``: two digits for each x and y, 00 to 99; two characters for each edge, one for each
of its nodes; one character for the label of each node (nothing where there are none); one for a node to be marked.
A character is a number in the order of ``DIGITS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_NODES = 60
ROUNDS = 40

Points = NDArray[np.float64]


class Drawing(NamedTuple):
    """A graph on a square from 0 to 99: places ``[n, 2]``, edges, numbers of labels, the node to be marked."""

    places: Points
    edges: Sequence[tuple[int, int]]
    labels: Sequence[int] = ()
    centre: int | None = None


def pack(drawing: Drawing) -> str:
    """As text; labels beyond the last character share it."""
    places = "".join(f"{x:02d}{y:02d}" for x, y in np.rint(_fitted(drawing.places)).astype(int).tolist())
    edges = "".join(DIGITS[a] + DIGITS[b] for a, b in drawing.edges)
    labels = "".join(DIGITS[min(label, len(DIGITS) - 1)] for label in drawing.labels)
    return f"{places}|{edges}|{labels}|{'' if drawing.centre is None else DIGITS[drawing.centre]}"


def unpack(text: str) -> Drawing:
    """The inverse of :func:`pack`."""
    places, edges, labels, centre = text.split("|")
    numbers = np.array([int(places[at : at + 2]) for at in range(0, len(places), 2)], dtype=np.float64)
    ends = [DIGITS.index(one) for one in edges]
    return Drawing(
        numbers.reshape(-1, 2),
        list(zip(ends[::2], ends[1::2], strict=True)),
        [DIGITS.index(one) for one in labels],
        DIGITS.index(centre) if centre else None,
    )


def laid_out(nodes: int, edges: Sequence[tuple[int, int]]) -> Points:
    """Places ``[n, 2]`` whose distances are near those along the edges (stress majorisation, Gansner et al., 2004)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    if nodes == 1:
        return np.zeros((1, 2))
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    joined = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(nodes, nodes))
    wanted = shortest_path(joined.tocsr(), directed=False, unweighted=True)
    reached = np.isfinite(wanted)
    wanted[~reached] = (wanted[reached].max() if reached.any() else 1.0) * 0.8 + 1  # parts stand side by side
    angle = 2 * np.pi * np.arange(nodes) / nodes
    places = np.stack([np.cos(angle), 0.97 * np.sin(angle)], axis=1) * wanted.mean() / 2
    weights = 1 / np.maximum(wanted, 1) ** 2
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = -weights * wanted / np.maximum(apart, 1e-9)
        np.fill_diagonal(ratio, 0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        places = inverse @ (ratio @ places)
    return places


def _fitted(places: Points) -> Points:
    """On the square from 4 to 95, its shape kept."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    return np.clip((places - (low + high) / 2) / span * 91 + 49.5, 0, 99)
