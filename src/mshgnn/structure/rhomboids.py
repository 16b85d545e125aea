r"""Clusters of points by the rhomboid tiling: which sets of one more point a set of points grows into.

For points in space, a top rhomboid is a sphere through four of them with the set ``In`` strictly inside. Its vertices
are the sets ``Q`` with :math:`In \subseteq Q \subseteq In \cup On`. The sets of ``k`` points among all vertices are
:math:`V_k`, those whose order-``k`` Voronoi cell is not empty; :math:`V_1` are the points. For orders ``k = 1, 2``:

.. math::
    M_k[Q', Q] \propto |\{\text{rhomboids with both } Q' \in V_{k+1} \text{ and } Q \in V_k\}| \text{ if } Q \subset Q',
    \text{ else } 0; \qquad \text{rows sum to } 1

Lists ``cells1`` (:math:`V_2`) and ``cells2`` (:math:`V_3`): ``cells1_points`` are the sets. ``pool1_to``,
``pool1_from``, ``pool1_weight`` are the entries of :math:`M`. ``link1_ends`` join two sets if an edge of the graph has
one end in each, a set with itself included.

The points are the first three features. All spheres through four points are tried, so no geometry library is needed.
Points in special position (planar rings, lines) are moved by a millionth of their extent, as a function of where they
lie; of fewer than four points every set is its own cluster.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import chain, combinations
from math import comb

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from mshgnn.structure.kind import Cost, Structure
from mshgnn.structure.ragged import Ragged

DIMENSIONS = 3
MOVED = 1e-6
SPHERES_AT_ONCE = 20_000
Points = NDArray[np.float64]
Cell = tuple[int, ...]
Rhomboid = tuple[frozenset[int], frozenset[int]]
"""The points inside a sphere and the four on it."""


def rhomboid_clusters(orders: int) -> Structure:
    """The kind with so many pools, 1 or 2."""
    return Structure(f"rhomboids-{orders}", partial(compute, orders=orders), "N⁴", cost=_cost, sees_features=True)


def _cost(nodes: int, edges: int) -> Cost:
    return Cost(0, 40 * comb(nodes, 4))


def compute(graph: Data, orders: int) -> dict[str, Ragged]:
    """The lists of one graph."""
    n = int(graph.num_nodes)
    tiling = rhomboids(moved(graph.x[:, :DIMENSIONS].double().numpy()), inside=orders)
    edges = [(int(u), int(v)) for u, v in graph.edge_index.t().tolist()]
    below: list[Cell] = [(point,) for point in range(n)]
    found: dict[str, Ragged] = {}
    for order in range(1, orders + 1):
        shared = _shared(tiling, order) if tiling else Counter({(cell, cell): 1 for cell in below})
        cells = sorted({large for large, _ in shared})
        number = {cell: row for row, cell in enumerate(cells)}
        place = {cell: row for row, cell in enumerate(below)}
        totals: Counter[Cell] = Counter()
        for (large, _), count in shared.items():
            totals[large] += count
        entries = sorted(shared)
        name, source = f"cells{order}", "node" if order == 1 else f"cells{order - 1}"
        weights = [shared[large, small] / totals[large] for large, small in entries]
        found |= {
            f"{name}_points": Ragged(_indices([_filled(cell, order + 1) for cell in cells], order + 1), name, "node"),
            f"pool{order}_to": Ragged(_indices([number[large] for large, _ in entries]), f"pool{order}", name),
            f"pool{order}_from": Ragged(_indices([place[small] for _, small in entries]), f"pool{order}", source),
            f"pool{order}_weight": Ragged(torch.tensor(weights, dtype=torch.float32), f"pool{order}"),
            f"link{order}_ends": Ragged(_indices(_links(cells, edges), 2), f"link{order}", name),
        }
        below = cells
    return found


def rhomboids(points: Points, inside: int) -> list[Rhomboid]:
    """All spheres through four points, in general position, with at most ``inside`` points strictly inside."""
    n = len(points)
    corners = np.fromiter(chain.from_iterable(combinations(range(n), 4)), np.int64, 4 * comb(n, 4)).reshape(-1, 4)
    found: list[Rhomboid] = []
    for start in range(0, len(corners), SPHERES_AT_ONCE):
        on = corners[start : start + SPHERES_AT_ONCE]
        first = points[on[:, 0]]
        a, b, c = (points[on[:, corner]] - first for corner in (1, 2, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = _square(a) * np.cross(b, c) + _square(b) * np.cross(c, a) + _square(c) * np.cross(a, b)
            centre = sides / (2 * (a * np.cross(b, c)).sum(axis=1, keepdims=True))
        # |x - centre|^2 - r^2 from the first corner, for the centre of a flat sphere is far away.
        relative = points[None] - first[:, None]
        power = (relative**2).sum(axis=2) - 2 * np.einsum("mnd,md->mn", relative, centre)
        within = power < 0
        np.put_along_axis(within, on, False, axis=1)
        for row in np.flatnonzero(np.isfinite(centre).all(axis=1) & (within.sum(axis=1) <= inside)):
            found.append((frozenset(np.flatnonzero(within[row]).tolist()), frozenset(on[row].tolist())))
    return found


def moved(points: Points) -> Points:
    """Points in general position: each moved a little, as its place decides, and its turn among equals."""
    if not len(points):
        return points
    _, same = np.unique(points, axis=0, return_inverse=True)
    same = same.reshape(-1)
    turn = np.array([np.count_nonzero(same[:row] == same[row]) for row in range(len(points))])
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    mixed = (points / extent) @ np.array([[12.9898, 78.233, 37.719], [39.346, 11.135, 83.155], [73.156, 52.235, 9.151]])
    noise = np.sin(mixed + turn[:, None] * np.array([1.7, 2.3, 2.9])) * 43758.5453
    return points + MOVED * extent * (noise - np.floor(noise) - 0.5)


def _shared(tiling: list[Rhomboid], order: int) -> Counter[tuple[Cell, Cell]]:
    """How many rhomboids have both sets as vertices: one of ``order + 1`` points, and one of ``order`` in it."""
    shared: Counter[tuple[Cell, Cell]] = Counter()
    for inner, on in tiling:
        for extra in combinations(sorted(on), order + 1 - len(inner)) if len(inner) <= order else ():
            large = tuple(sorted({*inner, *extra}))
            for left_out in extra:
                shared[large, tuple(point for point in large if point != left_out)] += 1
    return shared


def _links(cells: list[Cell], edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    around: dict[int, list[int]] = {}
    for row, cell in enumerate(cells):
        for point in cell:
            around.setdefault(point, []).append(row)
    return sorted({(s, t) for u, v in edges for s in around.get(u, ()) for t in around.get(v, ())})


def _filled(cell: Cell, width: int) -> Cell:
    return cell + (-1,) * (width - len(cell))


def _indices(rows: list[int] | list[tuple[int, int]] | list[Cell], width: int | None = None) -> torch.Tensor:
    made = torch.tensor(rows, dtype=torch.long)
    return made if width is None else made.reshape(-1, width)


def _square(vectors: Points) -> Points:
    squared: Points = (vectors**2).sum(axis=1, keepdims=True)
    return squared
