"""``paper`` and ``released`` against literal transcriptions that share nothing with the package but the weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import batch_norm

from mshgnn.nn import MSHGNN

Weights = dict[str, Tensor]
EDGES = torch.tensor([[0, 1, 2, 3, 3, 4, 5, 6, 6, 7], [1, 2, 0, 0, 2, 5, 4, 7, 5, 6]])
BATCH = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])


def linear(w: Weights, name: str, h: Tensor) -> Tensor:
    return w[f"{name}.weight"] @ h + w.get(f"{name}.bias", torch.zeros((), dtype=h.dtype))


def paper(w: Weights, x: Tensor) -> Tensor:
    """The equations of the paper on two graphs: sums of messages, MLP(h + m), gated messages, mean over the nodes."""
    h, F, L = list(x), 2, 3
    embedding = torch.zeros(2, 5, dtype=x.dtype)
    for layer in range(L):
        name = f"layers.{layer}.message"
        new = []
        for v in range(len(x)):
            F_v = linear(w, f"{name}.generator.projection", h[v]).reshape(F, len(h[v]))
            phi_v = linear(w, f"{name}.generator.shift", h[v])
            m_v, g_v = torch.zeros_like(h[v]), torch.zeros(5, dtype=x.dtype)
            for u in EDGES[0, EDGES[1] == v].tolist():
                p = F_v @ h[u] + phi_v
                psi = torch.cat([wave(k * p) for k in (1, 2, 4) for wave in (torch.sin, torch.cos)])
                message = linear(w, f"{name}.output", psi)
                m_v = m_v + message
                alpha = 1 / (1 + torch.exp(-linear(w, f"readout.scores.{layer}", message)))
                g_v = g_v + alpha * linear(w, f"readout.values.{layer}", message)
            embedding = embedding.index_add(0, BATCH[v : v + 1], w["readout.fusion.weight"][layer] * g_v[None] / 4)
            if layer < L - 1:
                mlp = f"layers.{layer}.update.mlp"
                new.append(linear(w, f"{mlp}.3", linear(w, f"{mlp}.0", h[v] + m_v).relu()))
        h = new
    return torch.stack([linear(w, "head.1", graph) for graph in embedding])


def released(w: Weights, x: Tensor) -> Tensor:
    """What the public code does: raw features, loops, means, MLP([h, m]), batch norm, ReLU, attention, two maps."""
    h, F = list(x), 3
    loops = torch.arange(len(x)).expand(2, -1)
    edges = torch.cat([EDGES, loops], dim=1)
    for layer in range(2):
        name, update = f"layers.{layer}.message", f"layers.{layer}.update"
        new = []
        for v in range(len(x)):
            F_v = linear(w, f"{name}.generator.projection", h[v]).reshape(F, len(h[v]))
            messages = []
            for u in edges[0, edges[1] == v].tolist():
                p = F_v @ h[u]
                basis = torch.cat([p.sin(), p.cos(), (2 * p).sin(), (2 * p).cos(), (4 * p).sin(), (4 * p).cos()])
                messages.append(w[f"{name}.output.weight"] @ basis + w[f"{update}.bias"])
            m_v = torch.stack(messages).mean(0)
            new.append(linear(w, f"{update}.mlp.3", linear(w, f"{update}.mlp.0", torch.cat([h[v], m_v])).relu()))
        norm = f"{update}.norm.module"
        h = list(batch_norm(torch.stack(new), None, None, w[f"{norm}.weight"], w[f"{norm}.bias"], training=True).relu())
    pooled = []
    for graph in range(2):
        nodes = [h[v] for v in range(len(x)) if BATCH[v] == graph]
        gates = torch.stack([linear(w, "readout.aggregation.gate_nn.0", node).sigmoid() for node in nodes])
        values = torch.stack([linear(w, "readout.aggregation.nn.0", node).relu() for node in nodes])
        pooled.append((torch.softmax(gates, dim=0) * values).sum(0))
    return torch.stack([linear(w, "head.3", linear(w, "head.0", graph).relu()) for graph in pooled])


@pytest.mark.usefixtures("reference_backend")
@pytest.mark.parametrize(
    ("preset", "literal", "options"),
    [
        ("paper", paper, {"num_projections": 2, "readout_channels": 5}),
        ("released", released, {"num_projections": 3}),
    ],
)
def test_a_preset_is_its_literal_transcription(
    preset: str, literal: Callable[[Weights, Tensor], Tensor], options: dict[str, int]
) -> None:
    torch.manual_seed(0)
    model = MSHGNN.from_preset(preset, 3, 2, hidden_channels=4, dropout=0.0, **options).double().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    x = torch.randn(8, 3, dtype=torch.float64)
    weights = {name: parameter.detach().clone().requires_grad_() for name, parameter in model.named_parameters()}
    mine, truth = model(x, EDGES, BATCH), literal(weights, x)
    torch.testing.assert_close(mine, truth, rtol=0, atol=1e-10)
    direction = torch.randn_like(mine)
    torch.autograd.backward([mine, truth], [direction, direction])
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        torch.testing.assert_close(parameter.grad, weights[name].grad, rtol=0, atol=1e-10, msg=name)


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_only_wide_inputs_have_an_encoder(preset: str) -> None:
    assert MSHGNN.from_preset(preset, 512, 2, hidden_channels=4, num_projections=1).encoder is None
    assert MSHGNN.from_preset(preset, 513, 2, hidden_channels=4, num_projections=1).encoder is not None
    assert MSHGNN.from_preset("stable", 1, 2).encoder is not None


def test_the_released_model_drops_after_both_layers_and_inside_the_head() -> None:
    model = MSHGNN.from_preset("released", 3, 2)
    dropping = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Dropout) and module.p]
    assert dropping == ["layers.0.update.dropout", "layers.1.update.dropout", "head.2"]


@pytest.mark.parametrize("task", ["graph", "node"])
def test_sparse_features_need_no_encoder(task: str) -> None:
    model = MSHGNN.from_preset("paper", 3, 2, task=task, hidden_channels=4).eval()
    x = torch.eye(8, 3)
    torch.testing.assert_close(model(x.to_sparse_csr(), EDGES), model(x, EDGES))
