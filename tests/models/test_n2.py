"""N2's proximity by its formula, and what a step and the two readouts do."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mshgnn.models import build
from mshgnn.models.n2 import N2, ClassProximity, Exchange, Proximity
from mshgnn.nn.model import Task

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])
BATCH = torch.tensor([0, 0, 0, 0, 1])
SMALL = {"hidden_channels": 8, "message_channels": 6, "pieces": 3, "pseudo_nodes": 4, "num_steps": 2}


def make(task: Task = "node", **options: object) -> N2:
    model = build("n2", 3, 2, task=task, options={**SMALL, **options})
    assert isinstance(model, N2)
    return model.double().eval()


def features() -> Tensor:
    return torch.randn(5, 3, dtype=torch.float64)


@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_proximity_is_the_weighted_mean_over_pieces(left: int, right: int) -> None:
    proximity = Proximity(4, 3).double()
    a, b = torch.randn(2, left, 5, 4, dtype=torch.float64), torch.randn(2, right, 6, 4, dtype=torch.float64)
    expected = torch.zeros(2, 5, 6, dtype=torch.float64)
    for piece in range(3):
        product = a[:, piece % left] @ b[:, piece % right].mT
        expected += proximity.weight[piece] * product / (3 * 4)
    torch.testing.assert_close(proximity(a, b), expected)


def test_one_piece_is_a_scaled_product() -> None:
    proximity = Proximity(4, 1).double()
    a, b = torch.randn(1, 5, 4, dtype=torch.float64), torch.randn(1, 6, 4, dtype=torch.float64)
    torch.testing.assert_close(proximity(a, b), proximity.weight * (a[0] @ b[0].T) / 4)


def test_rows_are_scaled_down_to_ten_thousand() -> None:
    proximity = Proximity(1, 1).double()
    with torch.no_grad():
        proximity.weight.fill_(1.0)
    a = torch.tensor([[[2e4], [1.0], [-2e4]]], dtype=torch.float64)
    b = torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)
    torch.testing.assert_close(proximity(a, b).sum(-1), torch.tensor([1e4, 3.0, -1e4], dtype=torch.float64))


def test_without_proximity_only_the_local_step_is_left_and_all_logits_are_zero() -> None:
    model, x = make(num_steps=1), features()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Proximity):
                module.weight.zero_()
    assert not model(x, EDGES).any()
    state, message = model.activation(model.encoder(x)).split([8, 6], dim=-1)
    adjacency = torch.zeros(5, 5, dtype=torch.float64)
    adjacency[EDGES[1], EDGES[0]] = 1.0
    adjacency.fill_diagonal_(1.0)
    root = adjacency.sum(1).rsqrt()
    heard = (root[:, None] * adjacency * root) @ torch.cat([message, torch.zeros_like(message), state], dim=-1)
    step = model.recursion
    expected = step.state_norm(step.heard_norm(state + step.hear(heard)))
    torch.testing.assert_close(model.embed(x, EDGES), expected)


def psi(proximity: Proximity, a: list[Tensor], b: list[Tensor]) -> Tensor:
    """The formula piece by piece; a side with one piece has it for all."""
    pieces, width = len(proximity.weight), a[0].size(-1)
    parts = [proximity.weight[s] * a[s % len(a)] @ b[s % len(b)].T for s in range(pieces)]
    return sum(parts, torch.zeros(1)) / (pieces * width)


def test_the_model_is_its_recursion_step_by_step() -> None:
    model, x, n = make("graph"), features(), 5
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    adjacency[EDGES[1], EDGES[0]] = 1.0
    root = adjacency.fill_diagonal_(1.0).sum(1).rsqrt()
    hat = root[:, None] * adjacency * root
    step, first, last = model.recursion, model.recursion.first_exchange, model.recursion.last_exchange

    def moved(exchange: Exchange, r: list[Tensor], shared: Tensor) -> list[Tensor]:
        by_piece = exchange.move(shared).view(4, 8, 3)
        return [exchange.norm(r[s % len(r)] + by_piece[:, :, s]) for s in range(3)]

    q, m = model.activation(model.encoder(x)).split([8, 6], dim=-1)
    r = [model.pseudo[0, 0]]
    for _ in range(2):
        shared = psi(first.proximity, r, r) @ (psi(step.collect, r, [q]) @ m / n)
        r, p = moved(first, r, shared), first.message(shared)
        heard = hat @ torch.cat([m, psi(step.inspect, [q], r) @ p, q], dim=-1)
        q = step.heard_norm(q + step.hear(heard))
        gathered = torch.cat([psi(step.collect_again, r, [q]) @ heard / n, p], dim=-1)
        shared = psi(last.proximity, r, r) @ gathered
        r, p = moved(last, r, shared), last.message(shared)
        update = psi(step.dispatch, [q], r) @ p
        m = step.message_norm(m + step.tell(update))
        q = step.state_norm(q + update)
    assert model.readout is not None
    assert model.norm is not None
    flat = torch.stack(r, dim=1).flatten(0, 1)  # pseudo nodes, then their pieces
    embedding = model.norm(model.readout(flat.T).squeeze(-1))
    torch.testing.assert_close(model.embed(x, EDGES)[0], embedding)
    head = model.head
    assert isinstance(head, ClassProximity)
    torch.testing.assert_close(model(x, EDGES), psi(head.proximity, [embedding[None]], [*head.classes]))


def test_all_steps_share_their_weights() -> None:
    assert make(num_steps=1).num_parameters == make(num_steps=7).num_parameters


def test_pseudo_nodes_may_be_renamed_with_the_readouts_weights() -> None:
    model, x = make("graph"), features()
    before = model(x, EDGES, BATCH)
    order = torch.tensor([2, 0, 3, 1])
    assert model.readout is not None
    with torch.no_grad():
        model.pseudo.copy_(model.pseudo[:, :, order])
        weight = next(model.readout.parameters())
        weight.copy_(weight.view(1, 4, 3)[:, order].flatten(1))
    torch.testing.assert_close(model(x, EDGES, BATCH), before)


def test_a_node_hears_its_graph_without_an_edge_and_nothing_of_another() -> None:
    model, x = make(), features()
    before = model(x, EDGES[:, :0], BATCH)
    x[3] += 1.0
    after = model(x, EDGES[:, :0], BATCH)
    assert not torch.isclose(before[:4], after[:4]).all(-1).any()
    torch.testing.assert_close(before[4], after[4])


def test_edge_features_are_summed_onto_their_sender() -> None:
    model, x = make(edge_dim=2), features()
    edge_attr = torch.randn(6, 2, dtype=torch.float64)
    moved = edge_attr.clone()
    moved[3], moved[4] = edge_attr[3] + edge_attr[4], 0.0  # both leave node 3
    torch.testing.assert_close(model(x, EDGES, edge_attr=moved), model(x, EDGES, edge_attr=edge_attr))
    moved[2] += 1.0
    assert not torch.allclose(model(x, EDGES, edge_attr=moved), model(x, EDGES, edge_attr=edge_attr))
