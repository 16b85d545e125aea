from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import mshgnn.structure.spectrum as module
from mshgnn.structure import Structure
from mshgnn.structure.spectrum import full_spectrum, lowest_eigenvectors


def laplacian(graph: Data) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """By networkx, which has zeros for a node without edges, where ours has the 1 of the identity."""
    simple = nx.Graph(graph.edge_index.t().tolist())
    simple.add_nodes_from(range(graph.num_nodes))
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    matrix = nx.normalized_laplacian_matrix(simple, nodelist=range(graph.num_nodes)).toarray()
    return np.asarray(matrix + np.diag([float(simple.degree(node) == 0) for node in range(graph.num_nodes)]))


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    nodes = draw(st.integers(1, 8))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=15))
    return Data(edge_index=torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t(), num_nodes=nodes)


@given(graphs())
@settings(deadline=None)
def test_the_full_spectrum_makes_the_laplacian(graph: Data) -> None:
    made = full_spectrum("laplacian").compute(graph)
    basis, values = made["eigenbasis"].values.view(graph.num_nodes, -1).numpy(), made["frequency"].values.numpy()
    np.testing.assert_allclose(basis @ np.diag(values) @ basis.T, laplacian(graph), atol=1e-5)
    np.testing.assert_allclose(basis @ basis.T, np.eye(graph.num_nodes), atol=1e-5)


@given(graphs())
@settings(deadline=None)
def test_with_loops_it_is_the_propagation_of_gcn(graph: Data) -> None:
    made = full_spectrum("adjacency").compute(graph)
    basis, values = made["eigenbasis"].values.view(graph.num_nodes, -1).numpy(), made["frequency"].values.numpy()
    simple = nx.Graph(graph.edge_index.t().tolist())
    simple.add_nodes_from(range(graph.num_nodes))
    looped = nx.to_numpy_array(simple, nodelist=range(graph.num_nodes))
    np.fill_diagonal(looped, 1)
    root = looped.sum(1) ** -0.5
    np.testing.assert_allclose(basis @ np.diag(values) @ basis.T, root[:, None] * looped * root, atol=1e-5)


@given(graphs(), st.integers(1, 10))
@settings(deadline=None)
def test_the_lowest_are_eigenvectors_and_missing_ones_are_nan(graph: Data, count: int) -> None:
    made = lowest_eigenvectors(count).compute(graph)
    vectors, values = made["eigenvector"].values.numpy(), made["eigenvalue"].values[0].numpy()
    found = min(count, graph.num_nodes)
    assert np.isnan(vectors[:, found:]).all()
    assert np.isnan(values[found:]).all()
    np.testing.assert_allclose(values[:found], np.linalg.eigvalsh(laplacian(graph))[:found], atol=1e-5)
    np.testing.assert_allclose(laplacian(graph) @ vectors[:, :found], vectors[:, :found] * values[:found], atol=1e-5)


def test_of_a_large_graph_the_lowest_are_found_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = nx.random_labeled_tree(60, seed=0)
    edges = torch.tensor([*wheel.edges]).t()
    graph = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=60)
    dense = lowest_eigenvectors(5).compute(graph)["eigenvalue"].values
    monkeypatch.setattr(module, "DENSE_NODES", 10)
    sparse = lowest_eigenvectors(5).compute(graph)
    torch.testing.assert_close(sparse["eigenvalue"].values, dense, atol=1e-5, rtol=1e-5)
    vectors = sparse["eigenvector"].values.numpy()
    np.testing.assert_allclose(laplacian(graph) @ vectors, vectors * dense.numpy(), atol=1e-5)


@pytest.mark.parametrize("kind", [full_spectrum("laplacian"), full_spectrum("adjacency"), lowest_eigenvectors(3)])
def test_a_graph_without_nodes_has_none(kind: Structure) -> None:
    made = kind.compute(Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0))
    assert all(ragged.values.dtype == torch.float32 for ragged in made.values())
