from __future__ import annotations

from collections import Counter
from random import Random

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from torch_geometric.data import Data

from mshgnn.models.controls.machine import PENALTIES
from mshgnn.models.controls.wl_kernel import WLKernel


def random_graphs(count: int, seed: int) -> list[nx.Graph]:
    """Labelled random graphs, every second one with a triangle more."""
    generator = np.random.default_rng(seed)
    graphs = []
    for index in range(count):
        graph = nx.gnp_random_graph(int(generator.integers(5, 10)), 0.3, seed=int(generator.integers(10**6)))
        if index % 2:
            graph = nx.disjoint_union(graph, nx.cycle_graph(3))
        for node in graph:
            graph.nodes[node]["label"] = int(generator.integers(3))
        graphs.append(graph)
    return graphs


def as_data(graph: nx.Graph, *, labelled: bool = True) -> Data:
    edges = [pair for u, v in graph.edges for pair in ((u, v), (v, u))]
    labels = torch.tensor([graph.nodes[node].get("label", 0) for node in graph], dtype=torch.long)
    x = torch.nn.functional.one_hot(labels, 3).float() if labelled else torch.ones(len(labels), 1)
    return Data(x=x, edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).t())


def networkx_kernel(rows: list[nx.Graph], columns: list[nx.Graph], rounds: int) -> np.ndarray:
    """The normalised kernel from networkx's own refinement."""

    def count(graph: nx.Graph) -> Counter[tuple[int, str]]:
        named = graph.copy()
        for node in named:
            named.nodes[node]["label"] = str(named.nodes[node]["label"])
        hashes = nx.weisfeiler_lehman_subgraph_hashes(
            named, node_attr="label", iterations=rounds, include_initial_labels=True
        )
        return Counter((round_, found) for node in hashes for round_, found in enumerate(hashes[node]))

    def product(a: Counter[tuple[int, str]], b: Counter[tuple[int, str]]) -> float:
        return float(sum(number * b[colour] for colour, number in a.items()))

    left, right = [count(graph) for graph in rows], [count(graph) for graph in columns]
    return np.array([[product(a, b) / np.sqrt(product(a, a) * product(b, b)) for b in right] for a in left])


@pytest.mark.parametrize("rounds", [1, 3])
def test_it_predicts_what_a_machine_on_networkx_colours_predicts(rounds: int) -> None:
    train, test = random_graphs(60, 0), random_graphs(40, 1)
    labels = np.arange(60) % 2
    ours = WLKernel(rounds).fit([as_data(graph) for graph in train], labels)
    theirs = GridSearchCV(
        SVC(kernel="precomputed"),
        {"C": list(PENALTIES)},
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    ).fit(networkx_kernel(train, train, rounds), labels)
    expected = theirs.predict(networkx_kernel(test, train, rounds))
    assert ours.predict([as_data(graph) for graph in test]).tolist() == expected.tolist()
    assert np.mean(expected == np.arange(40) % 2) > 0.6, "triangles can be learned"


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=20)
def test_it_is_deaf_to_the_names_of_nodes_and_the_order_of_graphs(seed: int, random: Random) -> None:
    graphs = random_graphs(12, seed)
    kernel = WLKernel().fit([as_data(graph) for graph in graphs], np.arange(12) % 2)
    renamed = []
    for graph in graphs:
        names = list(graph)
        random.shuffle(names)
        other = nx.Graph()
        other.add_nodes_from(sorted(names))
        mapping = dict(zip(graph, names, strict=True))
        other.add_edges_from((mapping[u], mapping[v]) for u, v in graph.edges)
        for node in graph:
            other.nodes[mapping[node]]["label"] = graph.nodes[node]["label"]
        renamed.append(other)
    found = kernel.predict([as_data(graph) for graph in graphs])
    assert kernel.predict([as_data(graph) for graph in reversed(renamed)]).tolist() == found[::-1].tolist()


def test_without_features_it_begins_with_degrees() -> None:
    graphs = [as_data(graph, labelled=False) for graph in [nx.star_graph(4), nx.path_graph(5)] * 6]
    kernel = WLKernel(rounds=0).fit(graphs, [0, 1] * 6)
    assert kernel.predict([as_data(nx.star_graph(5), labelled=False), graphs[1]]).tolist() == [0, 1]


def test_a_class_of_one_graph_is_still_learned() -> None:
    graphs = [as_data(graph) for graph in [nx.star_graph(6), nx.path_graph(7), nx.path_graph(8), nx.path_graph(6)]]
    assert WLKernel().fit(graphs, [1, 0, 0, 0]).predict(graphs).tolist() == [1, 0, 0, 0]


def test_a_graph_of_unknown_colours_alone_has_a_class() -> None:
    kernel = WLKernel().fit([as_data(graph) for graph in random_graphs(12, 0)], np.arange(12) % 2)
    stranger = Data(x=torch.full((2, 3), 7.0), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert kernel.predict([stranger]).tolist() in ([0], [1])
