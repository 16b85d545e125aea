from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import mshgnn.structure.distances as module
from mshgnn.structure.distances import distances


@given(st.integers(0, 9), st.data(), st.integers(1, 4))
@settings(deadline=None)
def test_they_are_those_of_networkx(nodes: int, data: st.DataObject, longest: int) -> None:
    node = st.integers(0, max(nodes - 1, 0))
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=15 if nodes else 0))
    edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", 4)
        found = distances(longest).compute(Data(edge_index=edge_index, num_nodes=nodes))["distance"].values
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(range(nodes))
    length = dict(nx.all_pairs_shortest_path_length(graph))
    expected = [
        min(length[sender][receiver], longest) if receiver in length[sender] else longest + 1
        for receiver in range(nodes)
        for sender in range(nodes)
    ]
    assert found.dtype == torch.uint8
    assert found.tolist() == expected
