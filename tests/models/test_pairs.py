"""Batches over pairs of nodes: in groups they give what they give at once, for the memory of a group."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import erdos_renyi_graph

from mshgnn.errors import UserError
from mshgnn.models import build, pairs
from mshgnn.models.pairs import grouped

MODELS = pytest.mark.parametrize("name", ["ign", "ppgn"])
SMALL = {"hidden_channels": 16}


def batch(*sizes: int) -> Batch:
    graphs = [Data(x=torch.randn(n, 3).double(), edge_index=erdos_renyi_graph(n, 0.4)) for n in sizes]
    return Batch.from_data_list(graphs)


def kept_bytes(name: str, given: Batch) -> int:
    """What the backward pass keeps, parameters apart."""
    model = build(name, 3, 2, task="graph", options=SMALL).double()
    parameters = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(given.x, given.edge_index, given.batch, batch_size=given.num_graphs)
    return sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in parameters)


@MODELS
def test_groups_give_the_same_logits_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = build(name, 3, 2, task="graph", options=SMALL).double(), batch(5, 12, 1, 3, 12, 7)
    results = []
    for limit in (pairs.BYTES_AT_ONCE, 300_000, 1):
        monkeypatch.setattr(pairs, "BYTES_AT_ONCE", limit)
        model.zero_grad()
        logits = model(given.x, given.edge_index, given.batch, batch_size=7)  # the last graph has no node
        logits.square().sum().backward()
        results.append([logits.detach(), *(weight.grad for weight in model.parameters())])
    for grouped_results in results[1:]:
        torch.testing.assert_close(grouped_results, results[0])


def test_groups_are_as_large_as_fits_and_a_graph_is_never_split(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = torch.tensor([5, 12, 1, 3, 12, 7])
    monkeypatch.setattr(pairs, "BYTES_AT_ONCE", 100)
    assert [group.tolist() for group in grouped(sizes, 1)] == [[0, 2, 3], [5], [1], [4]]
    monkeypatch.setattr(pairs, "BYTES_AT_ONCE", 6 * 144)
    assert [group.tolist() for group in grouped(sizes, 1)] == [[0, 1, 2, 3, 4, 5]]


@MODELS
def test_a_batch_is_refused_only_for_a_graph_that_is_too_large(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSHGNN_MEMORY", "2e7")
    model, given = build(name, 3, 2, task="graph", options=SMALL).double(), batch(*[30] * 20)
    assert torch.isfinite(model(given.x, given.edge_index, given.batch)).all()
    monkeypatch.setenv("MSHGNN_MEMORY", "1e5")
    with pytest.raises(UserError, match=r"on a graph of 30 nodes needs 0\.0 GB"):
        model(given.x, given.edge_index, given.batch)


@MODELS
def test_the_memory_that_is_named_is_the_memory_that_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, named = batch(60, 60), []
    monkeypatch.setattr(pairs, "check_memory", lambda what, num_bytes: named.append(num_bytes))
    kept = kept_bytes(name, given)
    assert kept <= 2 * named[0] <= 1.6 * kept
