"""Edge features reach the messages that can take them, and are refused by the others in one line."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINEConv

from mshgnn.errors import UserError
from mshgnn.models import MODELS, build
from mshgnn.models.gine import GINEMessage
from mshgnn.models.transformer import transformer_message
from mshgnn.nn.model import Task
from mshgnn.testing import assert_batch_consistent, assert_permutation_equivariant, assert_permutation_invariant

pytestmark = pytest.mark.usefixtures("reference_backend")

ABLE = [name for name, builder in MODELS.items() if builder.takes_edge_features]
EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])


def make(name: str, task: Task = "graph") -> nn.Module:
    options = {"edge_dim": 2, "hidden_channels": 8}
    return build(name, 3, 2, task=task, options=options).double().eval()


def features() -> tuple[Tensor, Tensor]:
    return torch.randn(5, 3, dtype=torch.float64), torch.randn(6, 2, dtype=torch.float64)


def test_four_kinds_of_message_take_them() -> None:
    assert {"gatv2", "gine", "msh-paper", "msh-released", "msh-stable", "transformer"} <= {*ABLE}


@pytest.mark.parametrize("name", ABLE)
def test_they_are_seen_and_carried_with_their_edges(name: str) -> None:
    model, (x, edge_attr) = make(name), features()
    logits = model(x, EDGES, edge_attr=edge_attr)
    assert not torch.allclose(model(x, EDGES, edge_attr=edge_attr.flip(0)), logits)
    assert_permutation_invariant(model, x, EDGES, edge_attr=edge_attr)
    if "node" in MODELS[name].tasks:
        assert_permutation_equivariant(make(name, "node"), x, EDGES, edge_attr=edge_attr)


@pytest.mark.parametrize("name", ABLE)
def test_gradients_reach_every_weight_and_odd_graphs_are_taken(name: str) -> None:
    graphs = [
        Data(x=torch.randn(n, 3), edge_index=edges, edge_attr=torch.randn(edges.size(1), 2))
        for n, edges in ((5, EDGES), (4, EDGES[:, :0]), (1, EDGES[:, :0]), (1, EDGES[:, :1] * 0))
    ]
    batch = Batch.from_data_list(graphs)
    model = make(name).float()
    logits = model(batch.x, batch.edge_index, batch.batch, edge_attr=batch.edge_attr)
    assert logits.shape == (4, 2)
    torch.autograd.backward((logits * torch.randn_like(logits)).sum())
    silent = [path for path, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert silent == []
    assert_batch_consistent(model, graphs)


@pytest.mark.parametrize("name", ABLE)
@pytest.mark.parametrize(
    ("rows", "message"), [(None, "edge_attr is missing"), (5, r"one row"), (0, r"one row")], ids=["none", "few", "no"]
)
def test_missing_or_too_few_are_refused(name: str, rows: int | None, message: str) -> None:
    x, _ = features()
    edge_attr = None if rows is None else torch.randn(rows, 2, dtype=torch.float64)
    with pytest.raises(UserError, match=message):
        make(name)(x, EDGES, edge_attr=edge_attr)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ABLE])
def test_a_model_that_cannot_take_them_says_who_can(name: str) -> None:
    task = MODELS[name].tasks[0]
    expected = f"{name} takes no edge features; {', '.join(ABLE[:-1])} and {ABLE[-1]} do"
    with pytest.raises(UserError, match=f"^{expected}$"):
        build(name, 3, 2, task=task, options={"edge_dim": 2})
    x, edge_attr = features()
    with pytest.raises(UserError, match="edge_attr was given, but the model was made without edge_dim"):
        build(name, 3, 2, task=task).double()(x, EDGES, edge_attr=edge_attr)


def test_gine_is_its_formula_with_and_without_them() -> None:
    x, edge_attr = features()
    for message in (GINEMessage(3, edge_dim=2).double(), GINEMessage(3).double()):
        total = x.clone()
        for edge in range(6):
            heard = x[EDGES[0, edge]]
            if isinstance(message.conv, GINEConv) and message.conv.lin is not None:
                heard = heard + message.conv.lin(edge_attr[edge])
            total[EDGES[1, edge]] += heard.relu()
        expected = total @ message.conv.nn.weight.T
        given = (edge_attr,) if message.conv.lin is not None else ()
        torch.testing.assert_close(message(x, EDGES, *given), expected)


def test_the_transformers_message_is_attention_over_the_senders() -> None:
    """With one head: softmax of q . (k + e) / sqrt(d) over the senders, of the values v + e; zero without any."""
    conv = transformer_message(4, heads=1, edge_dim=2).double()
    x, edge_attr = torch.randn(5, 4, dtype=torch.float64), torch.randn(6, 2, dtype=torch.float64)
    weights = {name.removesuffix(".weight"): weight for name, weight in conv.named_parameters()}
    edge = edge_attr @ weights["lin_edge"].T
    expected = torch.zeros(5, 4, dtype=torch.float64)
    for v in range(5):
        to_v = EDGES[1] == v
        senders = x[EDGES[0, to_v]]
        scores = (senders @ weights["lin_key"].T + edge[to_v]) @ (weights["lin_query"] @ x[v]) / 2
        expected[v] = scores.softmax(0) @ (senders @ weights["lin_value"].T + edge[to_v])
    torch.testing.assert_close(conv(x, EDGES, edge_attr), expected)
