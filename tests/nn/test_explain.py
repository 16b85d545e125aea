"""PyG's explainer on our models: the masks reach every message, and what matters gets the larger weight."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from mshgnn.nn import MSHGNN, MSHConv
from mshgnn.nn.generator import FactoredGenerator

pytestmark = pytest.mark.usefixtures("reference_backend")

EDGES = torch.tensor([[0, 1, 2, 3, 3, 1, 4, 2], [1, 2, 0, 0, 2, 1, 3, 4]])
PRESET_READOUTS = [("stable", "sum"), ("paper", "frequency"), ("released", "attention"), ("stable", "frequency")]


def build(preset: str, readout: str, task: str, **options: Any) -> tuple[MSHGNN, Tensor]:
    model = MSHGNN.from_preset(
        preset, 3, 2, task=task, readout=readout, hidden_channels=8, num_projections=4, **options
    ).eval()
    return model, torch.randn(5, 3)


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize(("preset", "readout"), PRESET_READOUTS)
def test_gnn_explainer(preset: str, readout: str, task: str) -> None:
    model, x = build(preset, readout, task)
    before = model(x, EDGES)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=4),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": task, "return_type": "raw"},
    )
    explanation = explainer(x, EDGES, index=None if task == "graph" else 0)
    assert explanation.edge_mask.shape == (8,)
    assert explanation.node_mask.shape == (5, 3)
    assert explanation.edge_mask.isfinite().all()
    assert explanation.edge_mask.std() > 0
    assert explanation.validate(raise_on_error=True)
    assert model(x, EDGES).equal(before), "the explainer left something behind"


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
@pytest.mark.parametrize("preset", ["paper", "stable"])
def test_an_edge_mask_of_ones_changes_nothing_and_one_of_zeros_removes_the_edges(preset: str, gate: str) -> None:
    model, x = build(preset, "frequency", "graph", gate=gate, embed_norm=False)
    model, x = model.double(), x.double()
    plain = model(x, EDGES)
    set_masks(model, torch.ones(8, dtype=torch.float64), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(model(x, EDGES), plain, rtol=0, atol=1e-12)
    set_masks(model, torch.zeros(8, dtype=torch.float64), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(model(x, EDGES), model.head(torch.zeros(1, 16, dtype=torch.float64)))
    mask = torch.ones(8, dtype=torch.float64, requires_grad=True)
    set_masks(model, mask, EDGES, apply_sigmoid=False)
    (gradient,) = torch.autograd.grad(model(x, EDGES)[0, 0], mask)
    assert (gradient.abs() > 0).all()
    clear_masks(model)
    assert model(x, EDGES).equal(plain)


def test_a_mask_weighs_each_message_in_the_order_of_the_edges() -> None:
    conv, x = MSHConv(3, 5, root_weight=False).double(), torch.randn(5, 3, dtype=torch.float64)
    mask = torch.rand(8, dtype=torch.float64)
    expected = torch.zeros(5, 5, dtype=torch.float64).index_add(
        0, EDGES[1], mask.unsqueeze(1) * conv.edge_messages(x, EDGES)
    )
    set_masks(conv, mask, EDGES, apply_sigmoid=False)
    torch.testing.assert_close(conv(x, EDGES), expected)
    torch.testing.assert_close(conv(x, EDGES.int()), expected)


def test_the_edge_that_matters_gets_the_larger_mask() -> None:
    """A node whose class only one of its two senders can move."""
    conv = MSHConv(1, 2, 1, "none", rank=0, phase=False, normalize=False, phase_scale=None, root_weight=False)
    with torch.no_grad():  # m_v = sum_u h_u * (1, -1): the sender with h = 0 says nothing
        assert isinstance(conv.generator, FactoredGenerator)
        conv.generator.sender.fill_(1.0)
        conv.output.weight.copy_(torch.tensor([[1.0], [-1.0]]))
    explainer = Explainer(
        conv,
        algorithm=GNNExplainer(epochs=100, lr=0.05, edge_ent=0.0, edge_size=0.05),  # entropy would keep lucky starts
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    edges = torch.tensor([[1, 2], [0, 0]])
    explanation = explainer(torch.tensor([[0.0], [2.0], [1e-3]]), edges, index=0)
    assert explanation.edge_mask[0] > explanation.edge_mask[1] + 0.1
