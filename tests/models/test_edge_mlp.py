from __future__ import annotations

import torch

from mshgnn.models import build
from mshgnn.models.edge_mlp import EdgePerceptron


def test_the_message_is_a_sum_of_perceptrons_of_both_ends_and_the_edge() -> None:
    torch.manual_seed(0)
    conv = EdgePerceptron(4, edge_dim=2)
    x, edge_attr = torch.randn(3, 4), torch.randn(3, 2)
    edges = torch.tensor([[0, 1, 2], [1, 2, 1]])
    truth = torch.zeros(3, 4)
    for (u, v), e in zip(edges.t().tolist(), edge_attr, strict=True):
        truth[v] += conv.perceptron(torch.cat([x[v], x[u], e]))
    torch.testing.assert_close(conv(x, edges, edge_attr), truth)


def test_it_is_a_model_of_the_registry_with_edge_features() -> None:
    model = build("edge-mlp", 3, 2, task="node", options={"hidden_channels": 8, "edge_dim": 5})
    edges = torch.tensor([[0, 1], [1, 0]])
    assert model(torch.randn(4, 3), edges, edge_attr=torch.randn(2, 5)).shape == (4, 2)
