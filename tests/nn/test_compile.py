from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export

from mshgnn.nn import MSHGNN, PRESETS, MSHConv


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def graph(n: int, m: int) -> tuple[Tensor, Tensor]:
    return torch.randn(n, 3), torch.randint(0, n, (2, m))


@pytest.mark.parametrize("options", [{}, {"frequencies": "learned", "aggr": "mean"}])
def test_the_layer_compiles_whole_for_any_size(options: dict[str, Any]) -> None:
    conv = MSHConv(3, 5, 2, **options)
    # The default backend's own code generation takes half a minute: see the slow test below.
    compiled = torch.compile(conv, fullgraph=True, dynamic=True, backend="aot_eager")
    for n, m in ((6, 11), (9, 30), (4, 0)):
        x, edges = graph(n, m)
        torch.testing.assert_close(compiled(x, edges), conv(x, edges))
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(*graph(20, 50))


@pytest.mark.parametrize(("preset", "task"), [("paper", "graph"), ("released", "graph"), ("stable", "node")])
def test_models_compile_whole_and_train(preset: str, task: str) -> None:
    model = MSHGNN.from_preset(preset, 3, 2, task=task, num_layers=1, hidden_channels=4, num_projections=2, dropout=0.0)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    x, edges = graph(6, 11)
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    expected = torch.autograd.grad(model(x, edges, batch, batch_size=2).square().sum(), list(model.parameters()))
    out = compiled(x, edges, batch, batch_size=2)
    actual = torch.autograd.grad(out.square().sum(), list(model.parameters()))
    for gradient, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_default_compiler_agrees() -> None:
    conv = MSHConv(3, 5, 2)
    compiled = torch.compile(conv, fullgraph=True, dynamic=True)
    for n, m in ((6, 11), (9, 30)):
        x, edges = graph(n, m)
        torch.testing.assert_close(compiled(x, edges), conv(x, edges))


def test_the_layer_exports_for_any_size() -> None:
    conv = MSHConv(3, 5, 2)
    program = export(conv, graph(6, 11), dynamic_shapes={"x": {0: Dim.AUTO}, "edge_index": {1: Dim.AUTO}})
    for n, m in ((6, 11), (13, 40)):
        x, edges = graph(n, m)
        torch.testing.assert_close(program.module()(x, edges), conv(x, edges))


@pytest.mark.parametrize("preset", PRESETS)
def test_models_export(preset: str) -> None:
    model = MSHGNN.from_preset(preset, 3, 2, num_layers=1, hidden_channels=4, num_projections=2).eval()
    x, edges = graph(6, 11)
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    program = export(model, (x, edges, batch), {"batch_size": 2})
    other = torch.randn(6, 3)
    torch.testing.assert_close(
        program.module()(other, edges, batch, batch_size=2), model(other, edges, batch, batch_size=2)
    )
