from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from mshgnn.models.controls import CONTROLS, Majority, NearestNeighbours, WLLookup
from mshgnn.models.controls.knn import graph_statistics


def with_signal(graph: nx.Graph, signal: np.ndarray | None = None) -> Data:
    edges = [pair for u, v in graph.edges for pair in ((u, v), (v, u))]
    nodes = graph.number_of_nodes()
    return Data(
        x=torch.ones(nodes, 1) if signal is None else torch.tensor(signal, dtype=torch.float32).view(nodes, -1),
        edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).t(),
    )


def mode(graph: nx.Graph, index: int) -> tuple[Data, float]:
    """A graph carrying one eigenvector of its Laplacian, and the eigenvalue."""
    values, vectors = np.linalg.eigh(nx.laplacian_matrix(graph).toarray())
    return with_signal(graph, vectors[:, index]), float(values[index])


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_every_control_fits_predicts_and_forgets_the_previous_fit(name: str) -> None:
    graphs = [with_signal(nx.path_graph(size)) for size in (3, 4, 5, 6)]
    control = CONTROLS[name]()
    assert control.fit(graphs, torch.tensor([2, 2, 2, 2])).predict(graphs).tolist() == [2, 2, 2, 2]
    assert control.fit(graphs, [0, 0, 0, 0]).predict(graphs[:2]).tolist() == [0, 0]
    assert control.predict([]).tolist() == []
    for wrong in ([0, 1], []):
        with pytest.raises(ValueError, match="one class per graph, got"):
            control.fit(graphs, wrong)


def test_majority_takes_the_most_frequent_class_the_smallest_of_a_tie() -> None:
    graphs = [with_signal(nx.path_graph(3))] * 5
    assert Majority().fit(graphs, [2, 1, 1, 2, 0]).predict(graphs[:2]).tolist() == [1, 1]


def test_the_lookup_table_knows_what_it_saw_and_nothing_else() -> None:
    ring, path, star = (with_signal(graph) for graph in (nx.cycle_graph(6), nx.path_graph(6), nx.star_graph(5)))
    two_triangles = with_signal(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    table = WLLookup().fit([ring, ring, ring, path], [1, 1, 0, 0])
    assert table.predict([path, ring]).tolist() == [0, 1]
    assert table.predict([two_triangles]).tolist() == [1]  # 1-WL takes it for the ring
    assert table.fit([ring, ring, path], [1, 1, 0]).predict([star]).tolist() == [1]  # unknown: the majority


def test_the_lookup_table_is_deaf_to_the_names_of_nodes() -> None:
    graph = nx.lollipop_graph(4, 3)
    renamed = nx.relabel_nodes(graph, {node: (3 * node + 1) % 7 for node in graph})
    table = WLLookup().fit([with_signal(graph), with_signal(nx.path_graph(7))], [1, 0])
    assert table.predict([with_signal(renamed)]).tolist() == [1]


@pytest.mark.parametrize("index", [0, 3, 9])
def test_the_rayleigh_quotient_of_a_mode_is_its_eigenvalue(index: int) -> None:
    graph, eigenvalue = mode(nx.barabasi_albert_graph(10, 2, seed=1), index)
    assert graph_statistics([graph])[0, 0] == pytest.approx(eigenvalue, abs=1e-5)


def test_degree_statistics_are_those_of_networkx() -> None:
    graph = nx.star_graph(4)
    degrees = np.array([degree for _, degree in graph.degree])
    expected = [degrees.mean(), degrees.std(), degrees.min(), degrees.max()]
    assert graph_statistics([with_signal(graph)])[0, 1:] == pytest.approx(expected)


def test_odd_graphs_have_statistics() -> None:
    silent = Data(x=torch.zeros(3, 2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    edgeless = Data(x=torch.ones(1, 2), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert np.isfinite(graph_statistics([silent, edgeless])).all()


def test_five_neighbours_tell_modes_and_families_apart() -> None:
    def sample(seed: int) -> tuple[list[Data], list[int]]:
        graphs, y = [], []
        for family, make in enumerate((nx.path_graph, nx.cycle_graph)):
            for position, index in enumerate((1, 4, 8)):
                for size in range(18, 24):
                    graph, _ = mode(make(size), index)
                    graphs.append(with_signal(make(size), graph.x.numpy() * (-1) ** (seed + size)))
                    y.append(3 * family + position)
        return graphs, y

    train, y = sample(0)
    test, truth = sample(1)
    assert (NearestNeighbours().fit(train, y).predict(test) == truth).mean() > 0.9
