from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.structure.expander import expander, second_eigenvalue


def pairs(nodes: int, permutations: int = 3) -> Tensor:
    graph = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=nodes)
    return expander(permutations).compute(graph)["expander"].values


@pytest.mark.parametrize("nodes", [11, 50, 300])
def test_every_node_has_twice_as_many_edges_as_there_are_permutations(nodes: int) -> None:
    sender, receiver = pairs(nodes).t()
    assert torch.bincount(sender, minlength=nodes).tolist() == [6] * nodes
    assert torch.bincount(receiver, minlength=nodes).tolist() == [6] * nodes
    edges = sorted(zip(sender.tolist(), receiver.tolist(), strict=True))
    assert edges == sorted((b, a) for a, b in edges)


@pytest.mark.parametrize("nodes", [50, 300])
def test_it_expands(nodes: int) -> None:
    found = pairs(nodes)
    graph = nx.MultiGraph(found[: len(found) // 2].tolist())
    # networkx counts a loop once in the matrix, the regular graph twice: the Laplacian is the same without loops.
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    gap = np.sort(nx.laplacian_spectrum(graph))[1]
    assert gap == pytest.approx(second_eigenvalue(found.numpy(), nodes), abs=1e-8)
    assert gap >= 6 - 2 * math.sqrt(5) - 0.1
    assert nx.diameter(graph) <= 3 * math.log2(nodes)


@pytest.mark.parametrize("nodes", [0, 1, 2, 10])
def test_of_few_nodes_every_pair_is_joined(nodes: int) -> None:
    expected = [[a, b] for a in range(nodes) for b in range(nodes) if a != b]
    assert sorted(pairs(nodes).tolist()) == expected
    assert pairs(nodes).shape == (len(expected), 2)


def test_it_is_the_same_again() -> None:
    assert torch.equal(pairs(40), pairs(40))
