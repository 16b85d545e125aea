"""``stable`` keeps its phases of order one where degrees run from 1 to 500; ``paper`` is measured beside it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from mshgnn.nn import MSHGNN, MSHConv
from mshgnn.nn.graph_model import Layer

pytestmark = pytest.mark.usefixtures("reference_backend")

NUM_LAYERS = 15


def star(leaves: int, hub_sign: float, leaf_sign: float) -> Data:
    """A hub with ``leaves`` leaves of degree 1; the class says whether the signs of hub and leaves agree."""
    hub = torch.zeros(leaves, dtype=torch.int64)
    leaf = torch.arange(1, leaves + 1)
    x = torch.randn(leaves + 1, 4)
    x[0, 0] = 2 * hub_sign
    x[1:, 0] = 2 * leaf_sign
    edges = torch.cat([torch.stack([hub, leaf]), torch.stack([leaf, hub])], dim=1)
    return Data(x=x, edge_index=edges, y=torch.tensor([int(hub_sign == leaf_sign)]))


def wide_degrees() -> Batch:
    signs = (-1.0, 1.0)
    return Batch.from_data_list(
        [star(leaves, hub, leaf) for leaves in (1, 2, 5, 20, 100, 500) for hub in signs for leaf in signs]
    )


def phase_spreads(model: MSHGNN, batch: Batch) -> list[float]:
    """Standard deviation of the phases of every layer in the first forward pass of training."""
    spreads: list[float] = []

    def measure(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(layer, Layer)
        assert isinstance(layer.message, MSHConv)
        spreads.append(float(layer.message.edge_phases(inputs[0], inputs[1]).std()))

    handles = [layer.register_forward_pre_hook(measure) for layer in model.layers]
    model.train()
    with torch.no_grad():
        model(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
    for handle in handles:
        handle.remove()
    return spreads


def losses(model: MSHGNN, batch: Batch, steps: int) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
        loss = nn.functional.cross_entropy(logits, batch.y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        history.append(float(loss.detach()))
    return history


def test_stable_trains_where_paper_struggles(capsys: pytest.CaptureFixture[str]) -> None:
    batch = wide_degrees()
    degrees = torch.bincount(batch.edge_index[1])
    assert int(degrees.min()) == 1
    assert int(degrees.max()) == 500
    report = []
    results = {}
    for preset in ("stable", "paper"):
        torch.manual_seed(0)
        model = MSHGNN.from_preset(preset, 4, 2, num_layers=NUM_LAYERS, hidden_channels=32, num_projections=8)
        spreads = phase_spreads(model, batch)
        history = losses(model, batch, steps=30)
        results[preset] = spreads, history
        report.append(
            f"{preset}: phase std by layer {' '.join(f'{spread:.2g}' for spread in spreads)}; "
            f"loss {history[0]:.3g} -> {history[-1]:.3g}"
        )
    with capsys.disabled():
        print("\n" + "\n".join(report))
    spreads, history = results["stable"]
    assert len(spreads) == NUM_LAYERS
    assert all(0.1 < spread < 5.0 for spread in spreads), report[0]
    assert history[-1] < 0.7 * history[0], report[0]
