from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.errors import UserError
from mshgnn.models.rtpool import RTPool
from mshgnn.structure.rhomboids import compute
from mshgnn.testing import assert_batch_consistent


def test_the_model_is_its_formula() -> None:
    x, edges = torch.randn(8, 5), erdos_renyi_graph(8, 0.4)
    model = RTPool(5, 2, hidden_channels=4).eval()
    lists = {name: ragged.values for name, ragged in compute(Data(x=x, edge_index=edges), 1).items()}
    cells = len(lists["cells1_points"])
    m = torch.zeros(cells, 8).index_put_((lists["pool1_to"], lists["pool1_from"]), lists["pool1_weight"])
    adjacency = torch.zeros(cells, cells).index_put_((*lists["link1_ends"].t(),), torch.tensor(1.0))
    pooled = m @ model.first(x[:, 3:], edges)
    h = model.convs[0].get_submodule("nn")(pooled + adjacency.t() @ pooled).relu()
    torch.testing.assert_close(model.embed(x, edges)[0], h.T @ (h @ model.attention), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("pools", [1, 2])
def test_turning_a_molecule_changes_nothing(pools: int) -> None:
    x, edges = torch.randn(9, 6), erdos_renyi_graph(9, 0.4)
    turn = torch.from_numpy(np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]).float()
    turned = torch.cat([x[:, :3] @ turn + 1, x[:, 3:]], dim=1)
    model = RTPool(6, 2, num_layers=pools).eval()
    torch.testing.assert_close(model(turned, edges), model(x, edges))


def test_a_graph_alone_is_the_graph_beside_a_larger_one() -> None:
    graphs = [Data(x=torch.randn(n, 5), edge_index=erdos_renyi_graph(n, 0.4)) for n in (3, 10, 1)]
    assert_batch_consistent(RTPool(5, 2, num_layers=2).eval(), graphs)


def test_a_place_has_three_numbers() -> None:
    with pytest.raises(UserError, match="in_channels must be at least 3, the place of a node, got 2"):
        RTPool(2, 2)


def test_a_graph_with_too_many_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "1e6")
    with pytest.raises(UserError, match="rhomboids-1 of 60 nodes needs"):
        RTPool(5, 2)(torch.randn(60, 5), torch.empty(2, 0, dtype=torch.long))
