from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import degree, erdos_renyi_graph, to_dense_adj

from mshgnn.models.dcnn import DCNN, Transition


def means(model: DCNN, x: Tensor, edge_index: Tensor) -> Tensor:
    return torch.stack([walk.mean(0) for walk in model.diffused(x, edge_index)])


@pytest.mark.parametrize("transition", ["released", "paper"])
def test_walks_are_powers_of_the_transition_matrix(transition: Transition) -> None:
    edges, x = erdos_renyi_graph(9, 0.5), torch.randn(9, 3).double()
    adjacency = to_dense_adj(edges, max_num_nodes=9)[0].double()
    p = adjacency / (adjacency.sum(0) + 1) if transition == "released" else adjacency / adjacency.sum(1, keepdim=True)
    expected = torch.stack([torch.linalg.matrix_power(p, hop) @ x for hop in range(4)])
    model = DCNN(3, 2, task="graph", transition=transition)
    torch.testing.assert_close(torch.stack(model.diffused(x, edges)), expected)


def test_the_first_hops_of_the_released_code_have_closed_forms() -> None:
    edges, x = erdos_renyi_graph(9, 0.4), torch.randn(9, 3).double()
    d = degree(edges[0], 9)[:, None].double()
    z = means(DCNN(3, 2, task="graph"), x, edges)
    torch.testing.assert_close(z[0], x.mean(0))
    torch.testing.assert_close(z[1], (d / (d + 1) * x).mean(0))


@pytest.mark.parametrize(("transition", "ratio"), [("released", 2 / 3), ("paper", 1.0)])
def test_a_constant_on_a_ring_decays_or_stays(transition: Transition, ratio: float) -> None:
    here = torch.arange(7)
    ring = torch.stack([torch.cat([here, (here + 1) % 7]), torch.cat([(here + 1) % 7, here])])
    z = means(DCNN(1, 2, task="graph", transition=transition), torch.ones(7, 1), ring)
    torch.testing.assert_close(z[:, 0], torch.tensor([ratio**hop for hop in range(4)]))


def test_the_model_is_its_formula_for_graphs_and_for_nodes() -> None:
    edges, x = erdos_renyi_graph(6, 0.5), torch.randn(6, 3)
    for task in ("graph", "node"):
        model = DCNN(3, 2, task=task)
        walks = torch.stack(model.diffused(x, edges), dim=1)
        walks = walks.mean(0, keepdim=True) if task == "graph" else walks
        torch.testing.assert_close(model(x, edges), model.head((model.weight * walks).tanh().flatten(1)))


def test_it_has_the_papers_parameters_on_nci1() -> None:
    assert DCNN(37, 2, task="graph").num_parameters == 446


def test_twenty_small_graphs_are_learnt_by_heart() -> None:
    graphs = [Data(x=torch.randn(n, 5), edge_index=erdos_renyi_graph(n, 0.4)) for n in [5, 6, 7, 8] * 5]
    batch, target = Batch.from_data_list(graphs), torch.randint(0, 3, (20,))
    model = DCNN(5, 3, task="graph", hops=5)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        logits = model(batch.x, batch.edge_index, batch.batch)
        torch.autograd.backward(torch.nn.functional.cross_entropy(logits, target))
        optimiser.step()
    assert (logits.argmax(dim=1) == target).float().mean() > 0.95
