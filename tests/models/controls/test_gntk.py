from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data
from torch_geometric.utils import degree, erdos_renyi_graph, from_networkx

from mshgnn.errors import UserError
from mshgnn.models.controls.gntk import GNTK, Scale


def with_ones(graph: nx.Graph) -> Data:
    edges = from_networkx(graph).edge_index.long()
    return Data(x=torch.ones(len(graph), 1), edge_index=edges)


def with_degrees(graph: nx.Graph) -> Data:
    edges = from_networkx(graph).edge_index.long()
    x = torch.nn.functional.one_hot(degree(edges[1], len(graph)).long(), 4).float()
    return Data(x=x, edge_index=edges)


P3, K3 = with_degrees(nx.path_graph(3)), with_degrees(nx.complete_graph(3))


def between(one: Data, other: Data, blocks: int, perceptrons: int, scale: Scale = "uniform", jk: bool = True) -> float:
    return float(GNTK(blocks, perceptrons, scale, jk).kernel([one, other])[0, 1])


@pytest.mark.parametrize(("blocks", "perceptrons", "value"), [(1, 1, 6), (1, 2, 8), (2, 1, 12), (3, 2, 32)])
def test_one_node_with_itself(blocks: int, perceptrons: int, value: float) -> None:
    node = with_ones(nx.empty_graph(1))
    assert between(node, node, blocks, perceptrons) == pytest.approx(value)


@pytest.mark.parametrize(("perceptrons", "value"), [(1, 2 / np.pi), (2, 1.371417272565885)])
def test_two_nodes_with_orthogonal_labels(perceptrons: int, value: float) -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    one, other = (Data(x=row[None], edge_index=none) for row in torch.eye(2))
    assert between(one, other, 1, perceptrons) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "depth", "jk", "uniform", "by_degree"),
    [
        (with_ones(nx.complete_graph(2)), with_ones(nx.complete_graph(2)), 1, True, 72, 24),
        (P3, P3, 1, True, 107.63049256228626, 27.82730431817256),
        (P3, P3, 1, False, 97.63049256228626, 17.82730431817256),
        (P3, K3, 1, True, 106.23132204064854, 20.77343333243964),
        (P3, P3, 2, True, 1589.2723870870657, 80.58346457269596),
    ],
)
def test_small_graphs_worked_by_hand(
    one: Data, other: Data, depth: int, jk: bool, uniform: float, by_degree: float
) -> None:
    assert between(one, other, depth, depth, "uniform", jk) == pytest.approx(uniform, rel=1e-8)
    assert between(one, other, depth, depth, "degree", jk) == pytest.approx(by_degree, rel=1e-8)


def test_two_triangles_are_a_hexagon_to_it() -> None:
    graphs = [with_ones(nx.cycle_graph(6)), with_ones(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))]
    np.testing.assert_allclose(GNTK(1, 1).kernel(graphs), 1368)


def node_by_node(graphs: list[Data], blocks: int, perceptrons: int) -> NDArray[np.float64]:
    """The recursion on all pairs of nodes of all graphs at once, without colours."""
    sizes = [int(graph.num_nodes) for graph in graphs]
    start, a = np.cumsum([0, *sizes]), np.eye(sum(sizes))
    for first, graph in zip(start, graphs, strict=False):
        a[first + graph.edge_index[1].numpy(), first + graph.edge_index[0].numpy()] = 1
    x = np.concatenate([graph.x.double().numpy() for graph in graphs])
    j = s = x @ x.T
    s = t = a @ s @ a.T
    for block in range(blocks):
        for _ in range(perceptrons):
            length = np.sqrt(np.diag(s))
            rho = np.clip(s / np.outer(length, length), -1, 1)
            angle = np.pi - np.arccos(rho)
            s = np.outer(length, length) * (rho * angle + np.sqrt(1 - rho**2)) / np.pi
            t = t * angle / np.pi + s
        j = j + t
        if block < blocks - 1:
            s, t = a @ s @ a.T, a @ t @ a.T
    return 2 * np.add.reduceat(np.add.reduceat(j, start[:-1], axis=0), start[:-1], axis=1)


def random_graphs(count: int) -> list[Data]:
    torch.manual_seed(1)
    labels = torch.eye(3)
    return [Data(x=labels[torch.randint(3, (n,))], edge_index=erdos_renyi_graph(n, 0.4)) for n in range(3, 3 + count)]


def test_colours_give_what_all_pairs_of_nodes_give() -> None:
    graphs = random_graphs(5)
    np.testing.assert_allclose(GNTK(3, 2).kernel(graphs), node_by_node(graphs, 3, 2), rtol=1e-7)


def test_the_kernel_is_symmetric_and_has_no_negative_eigenvalue() -> None:
    kernel = GNTK().kernel(random_graphs(6))
    np.testing.assert_allclose(kernel, kernel.T)
    assert np.linalg.eigvalsh(kernel).min() > -1e-8 * kernel.max()


def test_renaming_nodes_changes_nothing() -> None:
    graph = random_graphs(6)[-1]
    order = torch.randperm(graph.num_nodes)
    place = order.argsort()
    renamed = Data(x=graph.x[order], edge_index=place[graph.edge_index])
    kernel = GNTK().kernel([graph, renamed])
    np.testing.assert_allclose(kernel, kernel[0, 0])


def test_it_learns_stars_and_rings() -> None:
    graphs = [with_degrees(make(n)) for n in (3, 4, 5, 6, 7) for make in (nx.path_graph, nx.cycle_graph)]
    y = [0, 1] * 5
    assert GNTK().fit(graphs, y).predict(graphs).tolist() == y
    assert GNTK().fit(graphs, y).predict([]).shape == (0,)


def test_too_many_colours_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "100")
    with pytest.raises(UserError, match="GNTK between 3 colours"):
        GNTK().kernel(random_graphs(5))
