from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import minimum_spanning_tree
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.models.wit_topopool import WitTopoPool, join_heights, persistence_image, spanning_tree_edges
from mshgnn.testing import assert_batch_consistent, assert_permutation_invariant


@pytest.mark.parametrize("points", [1, 2, 5])
def test_spanning_trees_are_scipys(points: int) -> None:
    place = torch.randn(20, points, 2).double()
    lengths = torch.cdist(place, place)
    expected = [minimum_spanning_tree(graph.numpy()).sum() for graph in lengths]
    np.testing.assert_allclose(spanning_tree_edges(lengths).sum(1), expected)


def test_scores_are_those_of_a_random_graph_convolution() -> None:
    model, x, edges = WitTopoPool(3, 2).double(), torch.randn(9, 3).double(), erdos_renyi_graph(9, 0.4)
    conv = GCNConv(3, 10).double()
    with torch.no_grad():
        conv.lin.weight.copy_(model.score_weight.t())
        points = conv(x, edges).view(9, 5, 2)
    expected = [-minimum_spanning_tree(torch.cdist(p, p).numpy()).sum() for p in points]
    np.testing.assert_allclose(model.scores(x, edges), expected)


def test_heights_of_the_witness_complex_are_those_of_a_loop_over_witnesses() -> None:
    place, batch = torch.randn(12, 2).double(), torch.tensor([0] * 7 + [1] * 5)
    landmarks = torch.tensor([[2, 5, 0], [8, 11, -1]])
    found = join_heights(place, landmarks, batch, 2)
    for graph, marks in enumerate([[2, 5, 0], [8, 11]]):
        for a, mark_a in enumerate(marks):
            for b, mark_b in enumerate(marks):
                lowest = math.inf
                for w in (batch == graph).nonzero().flatten().tolist():
                    to = {mark: float((place[w] - place[mark]).square().sum()) for mark in marks}
                    lowest = min(lowest, max(to[mark_a], to[mark_b]) - min(to.values()))
                assert found[graph, a, b] == pytest.approx(lowest)
                assert a != b or found[graph, a, b] == pytest.approx(0)  # a landmark is a witness
    assert found[1, 2].isinf().all()


def test_the_image_is_its_formula_and_leaves_out_what_never_dies() -> None:
    deaths = torch.tensor([[0.2, 0.6, 1.5], [math.inf, 2.0, 1.0], [0.3, 0.3, math.inf]]).double()
    image = persistence_image(deaths)
    heights = [0.2, 0.3, 0.4, 0.5, 0.6]
    expected = [sum(d * math.exp(-((y - d) ** 2)) for d in (0.2, 0.6)) for y in heights]
    assert image[0].tolist() == pytest.approx(expected)
    assert image[1].tolist() == [0.0] * 5
    assert image[2].tolist() == pytest.approx([0.6] * 5)


def test_half_of_the_nodes_stay_and_training_never_changes_which() -> None:
    model = WitTopoPool(3, 2, hidden_channels=8).train()
    x, edges = torch.randn(9, 3), erdos_renyi_graph(9, 0.4)
    seen: list[int] = []
    model.convs[0].register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))
    before = model.scores(x, edges)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        model(x, edges).square().sum().backward()
        optimiser.step()
    assert seen == [5, 5, 5]
    assert model.scores(x, edges).equal(before)
    assert not {"score_weight", "place_weight"} & {name for name, _ in model.named_parameters()}


def test_the_kept_nodes_are_those_of_the_largest_score_with_the_edges_between_them() -> None:
    model = WitTopoPool(3, 2, hidden_channels=8).eval()
    x, edges = torch.randn(9, 3), erdos_renyi_graph(9, 0.4)
    kept = set(model.scores(x, edges).topk(5).indices.tolist())
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    model.convs[0].register_forward_pre_hook(lambda _, args: seen.append(args))
    model(x, edges)
    h, between = seen[0]
    expected = {(tuple(x[u].tolist()), tuple(x[v].tolist())) for u, v in edges.t().tolist() if {u, v} <= kept}
    assert {(tuple(h[u].tolist()), tuple(h[v].tolist())) for u, v in between.t().tolist()} == expected


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 3).double(), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 15, 1)]
    assert_batch_consistent(WitTopoPool(3, 2).double().eval(), graphs)


def test_renaming_nodes_changes_nothing_where_no_scores_tie() -> None:
    x, edges = torch.randn(13, 3).double(), torch.tensor([[*range(12)], [*range(1, 13)]])
    both_ways = torch.cat([edges, edges.flip(0)], dim=1)
    assert_permutation_invariant(WitTopoPool(3, 2).double(), x, both_ways)
