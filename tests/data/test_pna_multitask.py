from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from mshgnn.data import DataError, load_splits
from mshgnn.data.pna_multitask import PNAMultitask
from mshgnn.data.union import pieces

SHARE = 0.01


def networkx_graph(graph: object) -> nx.Graph:
    made = nx.Graph()
    made.add_nodes_from(range(graph.num_nodes))  # type: ignore[attr-defined]
    made.add_edges_from(graph.edge_index.t().tolist())  # type: ignore[attr-defined]
    return made


def scales(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """By what the targets were divided, one number for each."""
    return np.array([np.median(t[f != 0] / f[f != 0]) for f, t in zip(found.T, truth.T, strict=True)])


def test_the_targets_of_nodes_are_those_of_networkx() -> None:
    dataset = PNAMultitask("nodes", share=SHARE).generate()
    found, truth = [], []
    for graph in pieces(dataset).graphs:
        network, x = networkx_graph(graph), graph.x.double().numpy()
        (source,) = np.flatnonzero(x[:, 0])
        far = dict(nx.all_pairs_shortest_path_length(network))
        laplacian = nx.laplacian_matrix(network, nodelist=range(len(network))).toarray() @ x[:, 1]
        for node in network:
            truth.append([far[source].get(node, 0), max(far[node].values()), laplacian[node]])
        found.append(graph.y.double().numpy())
    known, targets = np.array(truth), np.concatenate(found)
    np.testing.assert_allclose(targets * scales(targets, known), known, atol=2e-4)
    (fold,) = load_splits(dataset).folds
    np.testing.assert_allclose(dataset.labels()[fold.train].max(0).values, 1)


def test_the_targets_of_graphs_are_those_of_networkx() -> None:
    dataset = PNAMultitask("graphs", share=SHARE).generate()
    truth = []
    for graph in dataset:
        network = networkx_graph(graph)
        longest = max(nx.diameter(network.subgraph(part)) for part in nx.connected_components(network))
        radius = np.abs(nx.adjacency_spectrum(network)).max()
        truth.append([nx.is_connected(network), longest, radius])
    known, targets = np.array(truth, dtype=float), dataset.labels().double().numpy()
    np.testing.assert_allclose(targets * scales(targets, known), known, atol=2e-4)


def test_larger_graphs_are_for_testing_alone() -> None:
    small, large = (PNAMultitask("graphs", larger=larger, share=SHARE).generate() for larger in (False, True))
    (near,), (far,) = (load_splits(dataset).folds for dataset in (small, large))
    for mine, other in zip(near.train, far.train, strict=True):
        assert torch.equal(small[mine].x, large[other].x)
        assert torch.equal(small[mine].y, large[other].y)
    assert {small[i].num_nodes for i in near.train} == {*range(15, 25)}
    assert {large[i].num_nodes for i in far.test} == {*range(25, 50)}
    assert (small.metric, small.objective) == ("log10_mse", "regress")


def test_settings_without_meaning_are_refused() -> None:
    with pytest.raises(DataError, match="targets must be 'nodes' or 'graphs'"):
        PNAMultitask("edges")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="share"):
        PNAMultitask(share=2.0)
