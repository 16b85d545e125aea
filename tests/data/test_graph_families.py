from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mshgnn.data import graph_families as families


@settings(deadline=None, max_examples=40)
@given(st.integers(4, 40), st.integers(0, 999), st.sampled_from(list(families.FAMILIES)))
def test_every_family_is_simple_and_undirected(n: int, seed: int, family: Callable[..., families.Matrix]) -> None:
    adjacency = family(n, np.random.default_rng(seed))
    for graph in (adjacency, families.disturbed(adjacency, np.random.default_rng(seed))):
        assert graph.shape == (n, n)
        assert set(np.unique(graph)) <= {0, 1}
        assert (graph == graph.T).all()
        assert not graph.diagonal().any()


@pytest.mark.parametrize("n", [15, 16, 19, 24])
def test_fixed_families_are_those_of_networkx(n: int) -> None:
    random = np.random.default_rng(0)
    small, large = families._sides(n)
    for family, truth in {
        families.grid: nx.grid_2d_graph(small, large),
        families.caveman: nx.caveman_graph(small, large),
        families.line: nx.path_graph(n),
        families.star: nx.star_graph(n - 1),
    }.items():
        assert nx.is_isomorphic(nx.from_numpy_array(family(n, random)), truth)
    if n % 2 == 0:
        assert nx.is_isomorphic(nx.from_numpy_array(families.ladder(n, random)), nx.ladder_graph(n // 2))


@pytest.mark.parametrize("seed", range(5))
def test_trees_are_trees(seed: int) -> None:
    random = np.random.default_rng(seed)
    for family in (families.tree, families.caterpillar, families.lobster, families.line, families.star):
        assert nx.is_tree(nx.from_numpy_array(family(20, random)))


def test_barabasi_alberts_number_of_edges() -> None:
    for seed in range(10):
        edges = families.barabasi_albert(20, np.random.default_rng(seed)).sum() // 2
        assert edges in [m + (19 - m) * m for m in range(1, 20)]


def test_the_mixture_has_no_lonely_node_and_a_seed() -> None:
    assert sum(families.FAMILIES.values()) == pytest.approx(1)
    made = [families.mixed_graph(17, np.random.default_rng(seed)) for seed in range(20)]
    assert all(graph.any(axis=0).all() for graph in made)
    assert (families.mixed_graph(17, np.random.default_rng(3)) == made[3]).all()
