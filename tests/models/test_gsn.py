from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import from_networkx

from mshgnn.models.gsn import EXACT, GSN, PLACES, SubstructureConv, places
from mshgnn.structure import structure_of_batch
from mshgnn.structure.substructures import Holder, substructure_counts


def one_hot(count: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(places(count), PLACES).flatten(1).double()


@pytest.mark.parametrize("holder", ["edge", "node"])
def test_the_first_layer_is_the_formula_with_one_hot_counts(holder: Holder) -> None:
    graph = from_networkx(nx.karate_club_graph())
    edges, x = graph.edge_index, torch.randn(34, 3).double()
    batch = torch.zeros(34, dtype=torch.long)
    count = structure_of_batch((substructure_counts("cliques", 4, holder),), x, edges, batch, 1)["count"]
    layer = SubstructureConv(3, 5, 2, holder).double().eval()
    linear = layer.message.nn
    weight = torch.cat([linear.weight, layer.table.weight.t()], dim=1)  # of the features beside the one-hot counts

    sender, receiver = edges
    ids = one_hot(count)
    if holder == "edge":
        own, sent = torch.cat([x, torch.zeros(34, 2 * PLACES)], dim=1), torch.cat([x[sender], ids], dim=1)
    else:
        own = torch.cat([x, ids], dim=1)
        sent = own[sender]
    summed = own.index_add(0, receiver, sent)
    torch.testing.assert_close(layer(x, edges, count), layer.update(summed @ weight.t() + linear.bias))


def test_counts_have_a_place_each_up_to_sixteen_and_share_them_further_on() -> None:
    small = torch.arange(EXACT + 1)
    assert places(small).equal(small)
    many = torch.arange(2**25)
    place = places(many)
    assert bool((place.diff() >= 0).all())
    assert int(place.max()) == PLACES - 1
    for number in (EXACT + 1, EXACT + 10, PLACES - 2):
        shared = many[place == number]
        assert shared.max() <= 1.2 * shared.min()


def test_counts_enter_the_first_layer_alone() -> None:
    model = GSN(3, 2, num_layers=3).eval()
    edges = from_networkx(nx.cycle_graph(5)).edge_index
    with_counts = model.embed(torch.ones(5, 3), edges)
    none = torch.zeros(10, 4, dtype=torch.long)
    without = model.embed(torch.ones(5, 3), edges, structure={"count": none})
    assert not torch.allclose(with_counts[:, 3:67], without[:, 3:67])
    assert len(model.structure) == 1
    assert len(model.convs) == 2
