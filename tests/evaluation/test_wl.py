from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from mshgnn.evaluation import wl
from mshgnn.evaluation.wl import class_ids, wl_colourings

LABELS = 3


@st.composite
def labelled_graphs(draw: st.DrawFn) -> nx.Graph:
    nodes = draw(st.integers(1, 6))
    pairs = list(combinations(range(nodes), 2))
    graph = nx.Graph()
    graph.add_nodes_from((node, {"label": str(draw(st.integers(0, 1)))}) for node in range(nodes))
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return graph


def as_data(graph: nx.Graph) -> Data:
    edges = [pair for u, v in graph.edges for pair in ((u, v), (v, u))]
    labels = torch.tensor([int(graph.nodes[node]["label"]) for node in graph.nodes])
    return Data(
        x=torch.nn.functional.one_hot(labels, LABELS).float(),
        edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).t(),
    )


def same_partition(ours: Sequence[object], truth: Sequence[object]) -> bool:
    return all((ours[i] == ours[j]) == (truth[i] == truth[j]) for i, j in combinations(range(len(ours)), 2))


@settings(max_examples=150, deadline=None)
@given(st.lists(labelled_graphs(), min_size=2, max_size=8), st.integers(1, 3))
def test_graphs_are_told_apart_exactly_as_networkx_does(graphs: list[nx.Graph], rounds: int) -> None:
    colouring = wl_colourings([as_data(graph) for graph in graphs], rounds)[-1]
    truth = [
        nx.weisfeiler_lehman_graph_hash(graph, node_attr="label", iterations=rounds, digest_size=16) for graph in graphs
    ]
    assert same_partition(class_ids(colouring.graphs).tolist(), truth)


@settings(max_examples=100, deadline=None)
@given(labelled_graphs(), st.integers(1, 3))
def test_nodes_are_told_apart_exactly_as_networkx_does(graph: nx.Graph, rounds: int) -> None:
    colouring = wl_colourings([as_data(graph)], rounds)[-1]
    hashes = nx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr="label", iterations=rounds, digest_size=16, include_initial_labels=True
    )
    truth = [tuple(hashes[node]) for node in graph.nodes]
    assert same_partition(class_ids(colouring.nodes).tolist(), truth)


def test_what_1_wl_cannot_tell_apart_stays_together() -> None:
    two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    pair = [two_triangles, nx.cycle_graph(6)]
    for graph in pair:
        nx.set_node_attributes(graph, "0", "label")
    for initial in ("features", "degree"):
        colours = wl_colourings([as_data(graph) for graph in pair], 5, initial)[-1].graphs
        assert (colours[0] == colours[1]).all()


def test_degree_is_one_round_of_a_constant_colour() -> None:
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for _ in range(30):
        edges = torch.randint(0, 5, (2, 7), generator=generator)
        graphs.append(Data(x=torch.ones(5, 1), edge_index=torch.cat([edges, edges.flip(0)], dim=1)))
    by_degree = wl_colourings(graphs, 0, "degree")[0].nodes
    by_round = wl_colourings(graphs, 1, "features")[1].nodes
    assert same_partition(class_ids(by_degree).tolist(), class_ids(by_round).tolist())


def test_colours_do_not_depend_on_company_or_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = []
    for seed in range(6):
        graph = nx.gnp_random_graph(8, 0.4, seed=seed)
        nx.set_node_attributes(graph, "1", "label")
        graphs.append(as_data(graph))
    together = wl_colourings(graphs, 2)[-1].graphs
    alone = np.concatenate([wl_colourings([graph], 2)[-1].graphs for graph in graphs])
    monkeypatch.setattr(wl, "EDGES_AT_ONCE", 20)
    chunked = wl_colourings(graphs, 2)[-1].graphs
    assert (together == alone).all()
    assert (together == chunked).all()


def test_feature_rows_are_compared_by_value_and_place() -> None:
    rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [-0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]
    no_edges = torch.empty(2, 0, dtype=torch.long)
    ids = class_ids(wl_colourings([Data(x=torch.tensor(rows), edge_index=no_edges)], 0)[0].nodes)
    assert ids[0] == ids[3]
    assert len(set(ids.tolist())) == 6


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="no graphs"):
        wl_colourings([], 1)
    with pytest.raises(ValueError, match="rounds must not be negative"):
        wl_colourings([Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long))], -1)
