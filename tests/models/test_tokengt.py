"""TokenGT's identifiers, and what its attention may and may not see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.models import build
from mshgnn.models.tokengt import TokenGT, draw_identifiers

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 1]])


def make(**options: object) -> TokenGT:
    small = {"hidden_channels": 8, "num_layers": 2, "heads": 2, "id_channels": 6, "dropout": 0.0}
    model = build("tokengt", 3, 2, task="graph", options={**small, **options})
    assert isinstance(model, TokenGT)
    return model.double()


def features(nodes: int = 5) -> Tensor:
    return torch.randn(nodes, 3, dtype=torch.float64)


@pytest.mark.parametrize("nodes", [0, 1, 4, 6])
def test_identifiers_are_orthonormal_and_tell_the_ends_of_an_edge(nodes: int) -> None:
    ids = draw_identifiers(nodes, 6, torch.empty(0, dtype=torch.float64))
    torch.testing.assert_close(ids @ ids.T, torch.eye(nodes, dtype=torch.float64))
    if nodes == 4:
        edge = torch.cat([ids[1], ids[3]])
        assert [round(float(torch.cat([p, p]) @ edge), 9) for p in ids] == [0, 1, 0, 1]
        assert float(torch.cat([ids[0], ids[0]]).square().sum()) == pytest.approx(2)


def test_more_nodes_than_columns_get_unit_vectors() -> None:
    ids = draw_identifiers(20, 6, torch.empty(0, dtype=torch.float64))
    torch.testing.assert_close(ids.norm(dim=1), torch.ones(20, dtype=torch.float64))
    assert float((ids @ ids.T).fill_diagonal_(0).abs().max()) > 0.1


def test_identifiers_are_drawn_in_each_step_of_the_training_and_fixed_in_evaluation() -> None:
    model, x = make(), features()
    assert not torch.allclose(model.train()(x, EDGES), model(x, EDGES))
    model.eval()
    before = torch.random.get_rng_state()
    assert torch.equal(model(x, EDGES), model(x, EDGES))
    assert torch.equal(torch.random.get_rng_state(), before), "an evaluation draws nothing from torch's generator"


def test_renaming_nodes_with_their_identifiers_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = make().eval(), features()
    ids = model._identifiers([5])
    order = torch.tensor([3, 0, 4, 2, 1])
    renamed, shuffle = order.argsort()[EDGES], torch.randperm(6)
    expected = model(x, EDGES)
    monkeypatch.setattr(model, "_identifiers", lambda sizes: ids[order])
    torch.testing.assert_close(model(x[order], renamed[:, shuffle]), expected)


def test_without_identifiers_and_kinds_it_sees_a_set() -> None:
    model, x = make().eval(), features()
    with torch.no_grad():
        model.identify.weight.zero_()
        model.kind.weight.zero_()
    torch.testing.assert_close(model(x, EDGES.flip(0)), model(x, EDGES))
    torch.testing.assert_close(model(x, torch.randint(5, (2, 6))), model(x, EDGES))
    assert not torch.allclose(model(x, EDGES[:, :5]), model(x, EDGES)), "the number of edges is seen"


def test_the_number_of_tokens_is_nodes_and_directed_edges() -> None:
    model, x = make(), features()
    assert model.tokens(x, EDGES, None, model._identifiers([5])).shape == (11, 8)


def test_edges_between_the_same_nodes_make_different_tokens_by_direction() -> None:
    model, x = make().eval(), features()
    assert not torch.allclose(model(x, EDGES.flip(0)), model(x, EDGES))


def test_tokens_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    monkeypatch.setenv("MSHGNN_MEMORY", "1000")
    with pytest.raises(UserError, match="1 graphs of up to 13 tokens needs"):
        model(features(), EDGES)
