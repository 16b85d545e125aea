from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph, from_networkx, to_dense_adj

from mshgnn.errors import UserError
from mshgnn.models.ign import IGN, EquivariantLinear
from mshgnn.models.pairs import Pairs, pair_tensor
from mshgnn.testing import assert_batch_consistent


def one_graph(nodes: int) -> Pairs:
    return Pairs(torch.ones(1, nodes, dtype=torch.bool))


def fifteen(t: Tensor) -> list[Tensor]:
    """The maps of the docstring on one matrix ``[n, n]``, written out."""
    n, one = len(t), torch.ones(len(t), dtype=t.dtype)
    g, r, c, trace, total = t.diagonal(), t.sum(1) / n, t.sum(0) / n, t.trace() / n, t.sum() / n**2
    on_diagonal = [torch.diag(v) for v in (g, trace * one, r, c, total * one)]
    rows = [torch.outer(c, one), torch.outer(r, one), torch.outer(one, c), torch.outer(one, r)]
    rest = [t, t.T, torch.outer(g, one), torch.outer(one, g), trace * torch.outer(one, one)]
    return [*on_diagonal, *rows, *rest, total * torch.outer(one, one)]


def test_the_contracted_layer_is_the_sum_of_the_fifteen_maps() -> None:
    layer, t = EquivariantLinear(3, 2).double(), torch.randn(6, 6, 3).double()
    torch.nn.init.normal_(layer.bias)
    expected = layer.bias[0] + torch.eye(6)[:, :, None] * layer.bias[1]
    for channel in range(3):
        for weight, image in zip(layer.weight[:, channel], fifteen(t[:, :, channel]), strict=True):
            expected = expected + image[:, :, None] * weight
    torch.testing.assert_close(layer(t[None], one_graph(6))[0], expected)


def images(nodes: int) -> Tensor:
    """Each map as a matrix on the ``n^2`` cells, from the layer itself with one weight at a time."""
    basis, maps = torch.eye(nodes**2).double().view(-1, nodes, nodes, 1), []
    layer = EquivariantLinear(1, 1).double()
    pairs = Pairs(torch.ones(nodes**2, nodes, dtype=torch.bool))
    for operation in range(15):
        with torch.no_grad():
            layer.weight.zero_()[operation] = 1
            maps.append(layer(basis, pairs).squeeze(-1))
    return torch.stack(maps)


@pytest.mark.parametrize(("nodes", "rank"), [(2, 8), (3, 14), (4, 15), (5, 15)])
def test_the_maps_are_independent_from_four_nodes_on(nodes: int, rank: int) -> None:
    assert torch.linalg.matrix_rank(images(nodes).flatten(1)) == rank


@pytest.mark.parametrize(("nodes", "rank"), [(2, 4), (3, 5), (4, 5)])
def test_to_the_diagonal_go_five_maps_and_to_a_number_two(nodes: int, rank: int) -> None:
    found = images(nodes)
    assert torch.linalg.matrix_rank(found.diagonal(dim1=2, dim2=3).flatten(1)) == rank
    assert torch.linalg.matrix_rank(found.sum(dim=(2, 3))) == 2


def test_a_layer_commutes_with_renaming() -> None:
    layer, t, order = EquivariantLinear(2, 3).double(), torch.randn(1, 7, 7, 2).double(), torch.randperm(7)
    renamed = t[:, order][:, :, order]
    torch.testing.assert_close(layer(renamed, one_graph(7)), layer(t, one_graph(7))[:, order][:, :, order])


def test_the_input_is_the_normalised_adjacency_with_features_on_the_diagonal() -> None:
    edges, x = erdos_renyi_graph(7, 0.4), torch.randn(7, 2)
    adjacency = to_dense_adj(edges, max_num_nodes=7)[0]
    root = adjacency.sum(1).clamp(min=1).sqrt()
    t, _ = pair_tensor(x, edges, (torch.zeros(7, dtype=torch.long), 1))
    expected = adjacency / torch.outer(root, root)
    torch.testing.assert_close(t[0, :, :, 0], expected)
    torch.testing.assert_close(t[0, :, :, 2], expected + torch.diag(x[:, 1]))


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 15, 1)]
    assert_batch_consistent(IGN(3, 2).double().eval(), [graph.update({"x": graph.x.double()}) for graph in graphs])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        (nx.cycle_graph(8), nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))),
    ],
)
def test_it_tells_no_more_apart_than_1_wl(one: nx.Graph, other: nx.Graph) -> None:
    model = IGN(1, 2).double().eval()
    x = torch.ones(len(one), 1).double()
    first, second = (model(x, from_networkx(graph).edge_index) for graph in (one, other))
    torch.testing.assert_close(first, second, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(("features", "parameters"), [(7, 527_586), (37, 534_786), (0, 525_906)])
def test_it_has_the_authors_parameters(features: int, parameters: int) -> None:
    """On MUTAG, NCI1 and IMDB-B, the last of which has no features there."""
    model = IGN(max(features, 1), 2)
    assert model.num_parameters - (15 * 16 if features == 0 else 0) == parameters


def test_a_graph_too_large_is_refused_before_anything_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "16e9")
    with pytest.raises(UserError, match=r"IGN on a graph of 3,782 nodes needs 49\.\d GB"):
        IGN(1, 2)(torch.ones(3782, 1), torch.empty(2, 0, dtype=torch.long))
