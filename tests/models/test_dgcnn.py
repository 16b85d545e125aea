from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import erdos_renyi_graph, to_dense_adj

from mshgnn.errors import UserError
from mshgnn.models import measured_options
from mshgnn.models.dgcnn import DGCNN
from mshgnn.testing import assert_batch_consistent

TWO_TRIANGLES = torch.tensor([[0, 1, 2, 3, 4, 5, 1, 2, 0, 4, 5, 3], [1, 2, 0, 4, 5, 3, 0, 1, 2, 3, 4, 5]])
HEXAGON = torch.tensor([[0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5]])


def test_propagation_is_the_mean_over_the_closed_neighbourhood() -> None:
    model, x, edges = DGCNN(3, 2).double(), torch.randn(9, 3).double(), erdos_renyi_graph(9, 0.3)
    closed = to_dense_adj(edges, max_num_nodes=9)[0].double() + torch.eye(9)
    mean = closed / closed.sum(1, keepdim=True)
    torch.testing.assert_close(mean.sum(1), torch.ones(9).double())
    h, states = x, []
    for conv in model.convs:
        assert isinstance(conv, SAGEConv)
        h = (mean @ h @ conv.lin_l.weight.T).tanh()
        states.append(h)
    torch.testing.assert_close(model.propagated(x, edges), torch.cat(states, dim=1))
    assert [state.size(1) for state in states] == [32, 32, 32, 1]


def test_a_constant_feature_stays_constant() -> None:
    model = DGCNN(1, 2)
    states = model.propagated(torch.ones(9, 1), erdos_renyi_graph(9, 0.3))
    torch.testing.assert_close(states, states[:1].expand_as(states))


def test_the_largest_last_states_come_first_and_zeros_fill_up() -> None:
    model = DGCNN(1, 2, hidden_channels=1, num_layers=2, k=10)
    z = torch.tensor([[1.0, -0.5], [2.0, 0.5], [3.0, -0.9]])
    rows = model.sorted(z, torch.zeros(3, dtype=torch.long), 1).view(10, 2)
    torch.testing.assert_close(rows[:3], z[[1, 0, 2]])
    assert not rows[3:].any()


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 18, 1)]
    assert_batch_consistent(DGCNN(3, 2, k=12).eval(), graphs)


def test_two_triangles_look_like_a_hexagon() -> None:
    model, x = DGCNN(2, 2).double().eval(), torch.ones(6, 2).double()
    torch.testing.assert_close(model(x, TWO_TRIANGLES), model(x, HEXAGON))


@pytest.mark.parametrize(("features", "k", "parameters"), [(7, 19, 27_427), (37, 30, 52_963), (3, 32, 55_971)])
def test_it_has_the_ports_parameters_but_for_the_biases_of_its_propagation(
    features: int, k: int, parameters: int
) -> None:
    """The counts of the authors' port on MUTAG, NCI1 and PROTEINS; its four propagations have 97 biases."""
    assert DGCNN(features, 2, k=k).num_parameters == parameters - 97


def test_fewer_than_ten_places_are_refused() -> None:
    with pytest.raises(UserError, match="k must be an integer from 10"):
        DGCNN(3, 2, k=9)


@pytest.mark.parametrize(("sizes", "k"), [([5, 12, 13, 20, 30], 13), ([2, 3, 4], 10)])
def test_k_is_the_size_that_sixty_percent_of_the_training_graphs_do_not_exceed(sizes: list[int], k: int) -> None:
    assert measured_options("dgcnn", [Data(num_nodes=size) for size in sizes]) == {"k": k}
