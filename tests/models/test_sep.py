from __future__ import annotations

import networkx as nx
import torch
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph, from_networkx

from mshgnn.models.sep import SEP
from mshgnn.structure import structure_of_batch
from mshgnn.testing import assert_batch_consistent, assert_permutation_invariant


def test_it_is_its_formula_with_the_matrices_of_the_tree() -> None:
    edges, x = erdos_renyi_graph(12, 0.3), torch.randn(12, 3).double()
    model = SEP(3, 2, hidden_channels=8, features=True).double().eval()
    tree = structure_of_batch(model.structure, x, edges, torch.zeros(12, dtype=torch.long), 1)
    h, adjacency, sums = x, torch.zeros(12, 12).double(), [x.sum(0)]
    adjacency[edges[0], edges[1]] = 1
    for level, conv in enumerate(model.convs, start=1):
        looped = adjacency + torch.eye(len(adjacency))
        root = looped.sum(1).rsqrt()
        weight, bias = conv.get_parameter("lin.weight"), conv.get_parameter("bias")
        h = (root[:, None] * looped * root @ h @ weight.t() + bias).relu()
        sums.append(h.sum(0))
        if level < 3:
            s = torch.nn.functional.one_hot(tree[f"parent{level}"]).double()
            h, adjacency = (s.t() @ h).relu(), ((s.t() @ adjacency @ s) > 0).double()
            adjacency.fill_diagonal_(0)
    torch.testing.assert_close(model.embed(x, edges)[0], torch.cat(sums))


def test_pooling_keeps_the_sum_of_all_rows() -> None:
    tree = structure_of_batch(
        SEP(1, 2).structure, torch.ones(9, 1), erdos_renyi_graph(9, 0.4), torch.zeros(9, dtype=torch.long), 1
    )
    assert torch.bincount(tree["parent2"][tree["parent1"]]).equal(tree["leaves2"])


def test_renaming_nodes_changes_nothing_where_no_tie_decides() -> None:
    """A path of four nodes has two best first merges, and either leads to the same tree."""
    edges = from_networkx(nx.path_graph(4)).edge_index
    assert_permutation_invariant(SEP(3, 2, hidden_channels=8).double(), torch.randn(4, 3).double(), edges)


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 12, 1)]
    assert_batch_consistent(SEP(3, 2, hidden_channels=8).eval(), graphs)
