from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from mshgnn.data.features import set_constant, set_degree


def stars(*leaves: int) -> list[Data]:
    """Graphs with one centre and so many leaves: degrees are known."""
    return [
        Data(
            edge_index=to_undirected(torch.stack([torch.zeros(count, dtype=torch.long), torch.arange(1, count + 1)])),
            num_nodes=count + 1,
        )
        for count in leaves
    ]


def test_degrees_are_as_wide_as_the_largest_of_the_whole_set() -> None:
    graphs = stars(2, 5)
    set_degree(graphs, cap=100)
    assert [tuple(graph.x.shape) for graph in graphs] == [(3, 6), (6, 6)]
    assert graphs[1].x.argmax(dim=1).tolist() == [5, 1, 1, 1, 1, 1]
    assert graphs[0].x.sum(dim=1).tolist() == [1.0, 1.0, 1.0]


def test_degrees_from_the_cap_on_share_the_last_column() -> None:
    graphs = stars(2, 5, 9)
    set_degree(graphs, cap=4)
    assert [int(graph.x[0].argmax()) for graph in graphs] == [2, 4, 4]
    assert graphs[0].x.shape[1] == 5


def test_a_constant() -> None:
    graphs = stars(3)
    set_constant(graphs)
    assert graphs[0].x.tolist() == [[1.0]] * 4
