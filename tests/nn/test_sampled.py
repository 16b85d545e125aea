"""A layer that hears a sample of its senders."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from torch_geometric.nn import SAGEConv

from mshgnn.models import build
from mshgnn.nn import MSHGNN, GraphModel, MSHConv
from mshgnn.nn.model import Task
from mshgnn.nn.msh_conv import Aggregation
from mshgnn.nn.sampled import scale_of_sample
from mshgnn.structure.neighbourhood import closed


@pytest.mark.parametrize("aggr", ["sum", "mean", "sqrt_degree"])
def test_the_mean_over_all_samples_is_the_message_of_all_senders(aggr: Aggregation) -> None:
    conv = MSHConv(3, 4, num_projections=2, aggr=aggr, root_weight=False).double()
    h = torch.randn(6, 3, dtype=torch.float64)
    senders = torch.arange(1, 6)
    conv.eval()
    whole = conv(h, torch.stack([senders, torch.zeros(5, dtype=torch.long)]))[0]
    found = []
    for pair in combinations(range(1, 6), 2):
        edge_index = torch.tensor([pair, (0, 0)])
        scale = scale_of_sample(conv, torch.tensor([5]), edge_index[1])
        message = conv(h, edge_index)[:1]
        found.append(message if scale is None else message * scale)
    torch.testing.assert_close(torch.cat(found).mean(dim=0), whole)


def test_other_messages_are_taken_as_they_are() -> None:
    assert scale_of_sample(SAGEConv(3, 3), torch.tensor([5]), torch.tensor([0, 0])) is None


@pytest.mark.parametrize("name", ["msh-stable", "gin", "gat", "sage", "film", "transformer", "edge-mlp"])
def test_the_whole_graph_as_a_part_gives_what_the_graph_gives(name: str) -> None:
    model = build(name, 4, 3, task="node", options={"hidden_channels": 8, "num_layers": 2}).eval()
    x, edge_index = torch.randn(9, 4), torch.randint(9, (2, 30))
    edge_index = edge_index[:, edge_index[1].argsort(stable=True)]
    degree = torch.bincount(edge_index[1], minlength=9)
    found = model(x, edge_index, neighbourhood=closed(9, 30, degree, 2))
    torch.testing.assert_close(found, model(x, edge_index))


def test_a_part_trains_every_weight_as_the_graph_does() -> None:
    model = MSHGNN(4, 3, task="node", hidden_channels=8, num_layers=2, dropout=0.0)
    x, edge_index = torch.randn(9, 4), torch.randint(9, (2, 30))
    edge_index = edge_index[:, edge_index[1].argsort(stable=True)]
    degree = torch.bincount(edge_index[1], minlength=9)
    gradients = []
    for options in ({}, {"neighbourhood": closed(9, 30, degree, 2)}):
        model.zero_grad()
        torch.autograd.backward(model(x, edge_index, **options).square().sum())
        gradients.append([parameter.grad for parameter in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_model_says_how_far_it_reaches() -> None:
    def hops(name: str, task: Task = "node", **options: object) -> int | None:
        model = build(name, 4, 3, task=task, options={"num_layers": 3, **options})
        assert isinstance(model, GraphModel)
        return model.hops

    assert hops("msh-stable") == 3
    assert hops("sage") == 3
    assert hops("msh-stable", task="graph") is None
    assert hops("gcn") is None
    assert hops("msh-stable", sender_weight="sqrt_degree") is None
