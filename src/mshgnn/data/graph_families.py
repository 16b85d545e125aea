"""Ten families of random graphs, and the mixture of them in PNA's multi-task benchmark (Corso et al., 2020).

Adjacency matrices ``[n, n]`` of zeros and ones, symmetric, without loops. Shares, families and the disturbance are
the authors'; everything is drawn from one generator.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int64]
Random = np.random.Generator
KEPT = 0.9
"""Share of the edges that the disturbance leaves alone."""


def _joined(n: int, pairs: npt.ArrayLike) -> Matrix:
    """The graph on ``n`` nodes with these edges ``[m, 2]``."""
    adjacency = np.zeros((n, n), dtype=np.int64)
    left, right = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    adjacency[left, right] = adjacency[right, left] = 1
    return adjacency


def _sides(n: int) -> tuple[int, int]:
    """Two factors of ``n``, as close to each other as there are."""
    small = max(side for side in range(1, isqrt(n) + 1) if n % side == 0)
    return small, n // small


def erdos_renyi(n: int, random: Random) -> Matrix:
    """Every edge with the same chance, itself drawn evenly."""
    upper = np.triu(random.random((n, n)) < random.random(), k=1).astype(np.int64)
    return upper + upper.T


def barabasi_albert(n: int, random: Random) -> Matrix:
    """Every new node takes ``m`` neighbours by their degrees, ``m`` drawn evenly from ``1 .. n - 1``."""
    m = int(random.integers(1, n))
    pairs = [(0, node) for node in range(1, m + 1)]
    for node in range(m + 1, n):
        degrees = np.bincount(np.ravel(pairs), minlength=node).astype(np.float64)
        chosen = random.choice(node, size=m, replace=False, p=degrees / degrees.sum())
        pairs += [(int(other), node) for other in chosen]
    return _joined(n, pairs)


def grid(n: int, random: Random) -> Matrix:
    """A rectangle, as square as ``n`` allows."""
    rows, columns = _sides(n)
    numbers = np.arange(n).reshape(rows, columns)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return _joined(n, np.concatenate([across, down]))


def caveman(n: int, random: Random) -> Matrix:
    """Cliques without an edge between them."""
    caves, size = _sides(n)
    return np.kron(np.eye(caves, dtype=np.int64), 1 - np.eye(size, dtype=np.int64))


def tree(n: int, random: Random) -> Matrix:
    """A tree whose degrees fall by the power 3: every tree of the drawn degrees is as likely (Prüfer's code)."""
    degrees = np.arange(1, n)
    shares = 1.0 / degrees**3
    fitting: Matrix = np.empty((0, n), dtype=np.int64)
    while not len(fitting):  # only degrees that add up to twice the edges are a tree's
        drawn = random.choice(degrees, size=(200, n), p=shares / shares.sum())
        fitting = drawn[drawn.sum(axis=1) == 2 * (n - 1)]
    left = fitting[0]
    code = random.permutation(np.repeat(np.arange(n), left - 1))
    pairs = []
    for node in code:
        leaf = int(np.flatnonzero(left == 1)[0])
        pairs.append((leaf, int(node)))
        left[[leaf, node]] -= 1
    first, second = np.flatnonzero(left == 1).tolist()
    return _joined(n, [*pairs, (first, second)])


def ladder(n: int, random: Random) -> Matrix:
    """Two rows with rungs; an odd node hangs on the first."""
    half = n // 2
    rows = [(i, i + 1) for start in (0, half) for i in range(start, start + half - 1)]
    return _joined(n, rows + [(i, i + half) for i in range(half)] + ([(0, n - 1)] if n % 2 else []))


def line(n: int, random: Random) -> Matrix:
    """A path."""
    return _joined(n, [(i, i + 1) for i in range(n - 1)])


def star(n: int, random: Random) -> Matrix:
    """One centre."""
    return _joined(n, [(0, i) for i in range(1, n)])


def caterpillar(n: int, random: Random) -> Matrix:
    """A path of drawn length, all others hanging on it."""
    back = int(random.integers(1, n))
    legs = [(node, int(random.integers(back))) for node in range(back, n)]
    return _joined(n, [(i, i + 1) for i in range(back - 1)] + legs)


def lobster(n: int, random: Random) -> Matrix:
    """A caterpillar with others hanging on what hangs."""
    back = int(random.integers(1, n))
    end = int(random.integers(back + 1, n + 1))
    legs = [(node, int(random.integers(back))) for node in range(back, end)]
    claws = [(node, int(random.integers(back, end))) for node in range(end, n)]
    return _joined(n, [(i, i + 1) for i in range(back - 1)] + legs + claws)


FAMILIES: dict[Callable[[int, Random], Matrix], float] = {
    erdos_renyi: 0.2,
    barabasi_albert: 0.2,
    grid: 0.05,
    caveman: 0.05,
    tree: 0.15,
    ladder: 0.05,
    line: 0.05,
    star: 0.05,
    caterpillar: 0.1,
    lobster: 0.1,
}
"""The families with their shares."""


def disturbed(adjacency: Matrix, random: Random) -> Matrix:
    """The graph with about a tenth of its edges removed and about as many others added."""
    n = len(adjacency)
    edges = adjacency.sum() / 2
    others = n * (n - 1) / 2 - edges
    if edges <= others:
        stay, appear = KEPT, (1 - KEPT) * edges / others
    else:
        stay, appear = KEPT + (1 - KEPT) * (edges - others) / edges, 1 - KEPT
    # As the authors draw it: the sum of two even numbers, not one, decides.
    drawn = random.uniform(0.0, 0.5, (n, n))
    drawn = drawn + drawn.T
    changed = np.where(adjacency == 1, drawn < stay, drawn < appear) & ~np.eye(n, dtype=bool)
    return changed.astype(np.int64)


def mixed_graph(n: int, random: Random) -> Matrix:
    """A graph of a random family, disturbed, its nodes in random order; drawn again until no node is alone."""
    families = list(FAMILIES)
    family = families[random.choice(len(families), p=list(FAMILIES.values()))]
    while True:
        order = random.permutation(n)
        adjacency = disturbed(family(n, random)[np.ix_(order, order)], random)
        if adjacency.any(axis=0).all():
            return adjacency
