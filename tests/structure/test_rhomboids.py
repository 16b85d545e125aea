from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.structure.rhomboids import Points, compute, moved, rhomboids


def places(count: int, seed: int = 0) -> Points:
    return np.random.default_rng(seed).normal(size=(count, 3))


def lists(points: Points, orders: int = 2) -> dict[str, list[Any]]:
    graph = Data(x=torch.from_numpy(points), edge_index=erdos_renyi_graph(len(points), 0.4))
    graph.num_nodes = len(points)
    return {name: ragged.values.tolist() for name, ragged in compute(graph, orders).items()}


@pytest.mark.parametrize("seed", range(3))
def test_empty_spheres_are_the_delaunay_tetrahedra(seed: int) -> None:
    points = places(12, seed)
    empty = {on for inner, on in rhomboids(points, inside=0) if not inner}
    assert empty == {frozenset(simplex.tolist()) for simplex in Delaunay(points).simplices}


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_the_delaunay_edges(seed: int) -> None:
    points = places(12, seed)
    edges = {edge for simplex in Delaunay(points).simplices.tolist() for edge in combinations(sorted(simplex), 2)}
    assert {tuple(pair) for pair in lists(points)["cells1_points"]} == edges


def test_triples_are_those_that_some_place_is_nearest_to() -> None:
    """Of random places in space, the three nearest points are a vertex of order three; nearly all turn up."""
    points = places(8)
    somewhere = np.random.default_rng(1).normal(scale=3, size=(20_000, 3))
    nearest = np.argsort(((somewhere[:, None] - points[None]) ** 2).sum(2), axis=1)[:, :3]
    seen = {tuple(sorted(row)) for row in nearest.tolist()}
    assert seen <= {tuple(cell) for cell in lists(points)["cells2_points"]}


def test_rows_sum_to_one_and_sets_grow_by_one_point() -> None:
    found = lists(places(9))
    for order, below in ((1, [[point] for point in range(9)]), (2, found["cells1_points"])):
        cells, total = found[f"cells{order}_points"], np.zeros(len(found[f"cells{order}_points"]))
        entries = zip(found[f"pool{order}_to"], found[f"pool{order}_from"], found[f"pool{order}_weight"], strict=True)
        for to, source, weight in entries:
            assert {*below[source]} < {*cells[to]}
            assert weight > 0
            total[to] += weight
        np.testing.assert_allclose(total, 1, rtol=1e-6)


def test_four_points_by_hand() -> None:
    """One sphere: all pairs, each from its two points alike; all triples, each from its three pairs alike."""
    found = lists(places(4))
    assert len(found["cells1_points"]) == 6
    assert len(found["cells2_points"]) == 4
    assert found["pool1_weight"] == [0.5] * 12
    assert found["pool2_weight"] == pytest.approx([1 / 3] * 12)


def test_links_join_sets_with_an_edge_between_them() -> None:
    graph = Data(x=torch.from_numpy(places(4)), edge_index=torch.tensor([[0, 1], [1, 0]]))
    found = compute(graph, 1)
    cells = found["cells1_points"].values.tolist()
    expected = [
        [s, t]
        for s, one in enumerate(cells)
        for t, other in enumerate(cells)
        if (0 in one and 1 in other) or (1 in one and 0 in other)
    ]
    assert found["link1_ends"].values.tolist() == expected


def test_turning_shifting_and_scaling_change_nothing() -> None:
    points = places(9)
    turn, _ = np.linalg.qr(places(3, seed=5))
    graph = Data(x=torch.from_numpy(points), edge_index=erdos_renyi_graph(9, 0.4))
    other = Data(x=torch.from_numpy(3.5 * points @ turn + 7), edge_index=graph.edge_index)
    for name, ragged in compute(graph, 2).items():
        assert torch.equal(ragged.values, compute(other, 2)[name].values), name


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_fewer_than_four_points_stay_as_they_are(count: int) -> None:
    found = lists(places(count))
    assert found["pool1_to"] == found["pool1_from"] == [*range(count)]
    assert found["pool2_weight"] == [1.0] * count


def test_planar_rings_and_equal_points_are_moved_apart() -> None:
    angle = np.arange(6) * np.pi / 3
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    assert rhomboids(moved(ring), inside=0)
    assert len(np.unique(moved(np.zeros((4, 3))), axis=0)) == 4
    order = np.random.default_rng(0).permutation(6)
    np.testing.assert_allclose(moved(ring[order]), moved(ring)[order])
