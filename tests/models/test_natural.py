from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph, from_networkx

from mshgnn.errors import UserError
from mshgnn.models.natural import NaturalConv, NaturalGN
from mshgnn.structure import structure_of_batch
from mshgnn.structure.edge_neighbourhoods import edge_neighbourhoods
from mshgnn.testing import assert_batch_consistent
from support.graphs import BICYCLOPENTYL, DECALIN, ROOK, SHRIKHANDE


def rings(size: int) -> tuple[nx.Graph, nx.Graph]:
    return nx.cycle_graph(2 * size), nx.disjoint_union(nx.cycle_graph(size), nx.cycle_graph(size))


def run(model: NaturalGN, graph: nx.Graph) -> Tensor:
    edges = from_networkx(nx.convert_node_labels_to_integers(graph)).edge_index
    return model.embed(torch.ones(len(graph), 1).double(), edges).detach()


@pytest.mark.parametrize(
    ("pair", "apart"),
    [
        (rings(3), True),
        (rings(4), True),
        ((ROOK, SHRIKHANDE), True),
        (rings(5), False),
        ((DECALIN, BICYCLOPENTYL), False),
    ],
)
def test_it_tells_apart_what_neighbourhoods_of_edges_show(pair: tuple[nx.Graph, nx.Graph], apart: bool) -> None:
    model = NaturalGN(1, 2, hidden_channels=16).double().eval()
    first, second = (run(model, graph) for graph in pair)
    gap = float((first - second).abs().max() / first.abs().max())
    assert (gap > 1e-6) if apart else (gap < 1e-12)


def test_a_message_is_natural() -> None:
    """Renaming the nodes of the graph renames the signals, and nothing else."""
    n = 8
    edges, order = erdos_renyi_graph(n, 0.4), torch.randperm(n)
    place, conv = order.argsort(), NaturalConv(4, 2).double()
    values = torch.randn(n, n, 4).double()  # v_p(x)

    def signals(v: Tensor, edge_index: Tensor) -> Tensor:
        batch = torch.zeros(n, dtype=torch.long)
        lists = structure_of_batch((edge_neighbourhoods(),), torch.ones(n, 1), edge_index, batch, 1)
        ball = [{p, *edge_index[0][edge_index[1] == p].tolist()} for p in range(n)]
        owner = torch.tensor([p for p in range(n) for _ in ball[p]])
        result = torch.full((n, n, 4), torch.nan).double()
        result[owner, lists["pair_node"]] = conv(v[owner, lists["pair_node"]], lists).detach()
        return result

    renamed = signals(values[order][:, order], place[edges])
    torch.testing.assert_close(renamed, signals(values, edges)[order][:, order], equal_nan=True)


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.4)) for n in (4, 12, 1)]
    assert_batch_consistent(NaturalGN(3, 2, hidden_channels=8).eval(), graphs)


def test_a_batch_whose_messages_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x, edges = NaturalGN(3, 2), torch.randn(10, 3), erdos_renyi_graph(10, 0.8)
    computed = structure_of_batch(model.structure, x, edges, torch.zeros(10, dtype=torch.long), 1)
    monkeypatch.setenv("MSHGNN_MEMORY", "1e5")
    with pytest.raises(UserError, match=r"messages on \d+ copies of nodes with [\d,]+ edges needs"):
        model(x, edges, structure=computed)
