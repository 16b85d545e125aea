"""A trace (``torch.jit.trace``, and ONNX by it) computes other graphs than the traced one: it carries none of it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mshgnn.nn import MSHGNN, PRESETS, MSHConv

# torch says of its own tracer that it is deprecated, and of every number it takes for a constant
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.filterwarnings("ignore:.*trac")]


def graph(nodes: int, edges: int) -> tuple[Tensor, Tensor]:
    return torch.randn(nodes, 3), torch.randint(nodes, (2, edges))


OTHERS = ((6, 11), (13, 40), (5, 3))
"""Nodes and edges: as many as were traced, more, and fewer."""


@pytest.mark.parametrize("rank", [None, 0, 2])
@pytest.mark.parametrize(
    "options", [{}, {"aggr": "sqrt_degree", "sender_weight": "sqrt_degree", "centered": True, "frequencies": "learned"}]
)
def test_a_traced_layer_computes_other_graphs(rank: int | None, options: dict[str, Any]) -> None:
    conv = MSHConv(3, 5, 2, rank=rank, **options).eval()
    given = graph(6, 11)
    conv(*given)  # the graph is known to the cache
    traced = torch.jit.trace(conv, given)  # type: ignore[no-untyped-call]
    assert "index_add" not in str(traced.inlined_graph), "ONNX forgets all but the last row of an index"
    for nodes, edges in OTHERS:
        other = graph(nodes, edges)
        torch.testing.assert_close(traced(*other), conv(*other), rtol=1e-4, atol=1e-5)


def test_features_and_weights_of_edges_stay_at_their_edges() -> None:
    conv = MSHConv(3, 5, 2, edge_dim=2).eval()
    arguments = [(*graph(nodes, edges), torch.randn(edges, 2), torch.rand(edges)) for nodes, edges in OTHERS]
    traced = torch.jit.trace(conv, arguments[0])  # type: ignore[no-untyped-call]
    for other in arguments:
        torch.testing.assert_close(traced(*other), conv(*other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_traced_model_computes_other_graphs(preset: str) -> None:
    model = MSHGNN.from_preset(preset, 3, 2, num_layers=2, hidden_channels=4, num_projections=2).eval()
    given = graph(6, 11)
    model(*given)
    traced = torch.jit.trace(model, given)  # type: ignore[no-untyped-call]
    assert "index_add" not in str(traced.inlined_graph)
    for nodes, edges in OTHERS:
        other = graph(nodes, edges)
        torch.testing.assert_close(traced(*other), model(*other), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(
    find_spec("onnx") is None or find_spec("onnxruntime") is None, reason="onnx and onnxruntime are in no extra"
)
def test_onnx_computes_other_graphs(tmp_path: Path) -> None:
    import onnxruntime  # type: ignore[import-not-found, unused-ignore]

    conv = MSHConv(3, 5, 2).eval()
    model = MSHGNN(3, 2, num_layers=2, hidden_channels=4, num_projections=2).eval()
    given, path = graph(6, 11), tmp_path / "model.onnx"
    conv(*given)
    traced = torch.jit.trace(model, given)  # type: ignore[no-untyped-call]
    for ours, exported in (
        (conv, conv),
        (model, traced),
    ):  # torch gives a model's keywords by position, a trace has none
        torch.onnx.export(
            exported, given, path, dynamo=False, input_names=["x", "edge_index"], output_names=["out"],
            dynamic_axes={"x": {0: "nodes"}, "edge_index": {1: "edges"}},
        )  # fmt: skip
        session = onnxruntime.InferenceSession(str(path))
        for nodes, edges in OTHERS:
            x, edge_index = graph(nodes, edges)
            (found,) = session.run(None, {"x": x.numpy(), "edge_index": edge_index.numpy()})
            torch.testing.assert_close(torch.from_numpy(found), ours(x, edge_index).detach(), rtol=1e-4, atol=1e-4)
