from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.models import build, rectangle
from mshgnn.models.rectangle import Rectangle
from mshgnn.models.san import SAN, SANLayer
from mshgnn.structure import structure_of_batch

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 3, 3], [1, 0, 2, 1, 3, 2, 4, 3, 3, 1]])
SMALL = {"hidden_channels": 8, "heads": 2, "num_layers": 2, "position_channels": 4, "position_heads": 2}


def make(task: str = "node", **options: object) -> SAN:
    model = build("san", 3, 2, task=task, options={**SMALL, "position_hidden": 8, **options})  # type: ignore[arg-type]
    assert isinstance(model, SAN)
    return model.double().eval()


def by_hand(layer: SANLayer, h: Tensor, sorts: Tensor, edge_index: Tensor) -> Tensor:
    """The formula, pair by pair and head by head."""
    nodes, width = h.shape
    edges = set(zip(*edge_index.tolist(), strict=True))
    size = width // layer.heads
    out = torch.zeros_like(h)
    for v in range(nodes):
        for head in range(layer.heads):
            part = slice(head * size, (head + 1) * size)
            total, weights = torch.zeros(size, dtype=h.dtype), torch.tensor(0.0, dtype=h.dtype)
            for u in range(nodes):
                real = (u, v) in edges
                scores = layer.edges if real else layer.others
                if u == v or scores is None:
                    continue
                product = scores.query(h[v]) * scores.key(h[u]) * scores.edge(sorts[int(real)])
                w = (product[part].sum() / size**0.5).clamp(-5, 5).exp() / (1 + layer.gamma)
                w = w if real else w * layer.gamma
                total, weights = total + w * layer.value(h[u])[part], weights + w
            out[v, part] = total / (weights + 1e-6)
    return out


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_attention_is_its_formula(gamma: float) -> None:
    layer = SANLayer(8, heads=2, gamma=gamma, dropout=0.0).double()
    h, sorts = torch.randn(5, 8, dtype=torch.float64) * 2, torch.randn(2, 8, dtype=torch.float64)
    place = Rectangle(torch.zeros(5, dtype=torch.long), 1)
    torch.testing.assert_close(layer.attend(h, sorts, place.edges(EDGES), place), by_hand(layer, h, sorts, EDGES))


def test_tied_pairs_of_equal_weight_make_the_edges_invisible() -> None:
    layer = SANLayer(8, heads=2, gamma=1.0, dropout=0.0).double()
    assert layer.others is not None
    layer.others.load_state_dict(layer.edges.state_dict())
    h, sorts = torch.randn(5, 8, dtype=torch.float64), torch.randn(1, 8, dtype=torch.float64).expand(2, -1)
    place = Rectangle(torch.zeros(5, dtype=torch.long), 1)
    found = [layer.attend(h, sorts, place.edges(edges), place) for edges in (EDGES, EDGES[:, :0])]
    torch.testing.assert_close(found[0], found[1])


def test_blocks_of_rows_give_the_same_outputs_and_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = make(), torch.randn(10, 3, dtype=torch.float64)
    edge_index, batch = torch.cat([EDGES, EDGES + 5], dim=1), torch.arange(10) // 5
    results = []
    for elements in (rectangle.BLOCK_ELEMENTS, 40):
        monkeypatch.setattr(rectangle, "BLOCK_ELEMENTS", elements)
        model.zero_grad()
        out = model(x, edge_index, batch)
        torch.autograd.backward(out.square().sum())
        results.append([out.detach(), *(weight.grad for weight in model.parameters())])
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("task", ["graph", "node"])
def test_renamed_with_their_eigenvectors_nodes_get_the_same(task: str) -> None:
    model, x = make(task), torch.randn(5, 3, dtype=torch.float64)
    batch = torch.zeros(5, dtype=torch.long)
    structure = structure_of_batch(model.structure, x, EDGES, batch, 1)
    order = torch.tensor([3, 0, 4, 2, 1])
    renamed = {**structure, "eigenvector": structure["eigenvector"][order]}
    expected = model(x, EDGES, batch, structure=structure)
    found = model(x[order], order.argsort()[EDGES], batch, structure=renamed)
    torch.testing.assert_close(found, expected if task == "graph" else expected[order])


def test_signs_are_drawn_in_training_only() -> None:
    model, x = make(dropout=0.0, position_dropout=0.0), torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(model(x, EDGES), model(x, EDGES))
    model.train()
    assert not torch.allclose(model(x, EDGES), model(x, EDGES))
    fixed = make(flip_signs=False, position_dropout=0.0).train()
    torch.testing.assert_close(fixed(x, EDGES), fixed(x, EDGES))


def test_widths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="position_channels must be below hidden_channels 8, got 8"):
        make(position_channels=8)
    with pytest.raises(UserError, match="position_heads must divide position_channels 4, got 3"):
        make(position_heads=3)
