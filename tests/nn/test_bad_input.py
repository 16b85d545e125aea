"""Odd and bad input, generated: a finite result of the right shape or a ``ValueError`` that names the argument."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric import EdgeIndex

from mshgnn.nn import MSHGNN, MSHConv

pytestmark = pytest.mark.usefixtures("reference_backend")

CONV = MSHConv(2, 3, 2)
EDGE_CONV = MSHConv(2, 3, 2, edge_dim=2)
BIPARTITE = MSHConv((2, 3), 3, 2)
MODELS = [
    MSHGNN(2, 2, hidden_channels=4, num_projections=2, num_layers=1, **options).eval()
    for options in (
        {"readout": "frequency", "gate": "softmax"},
        {"readout": "frequency"},
        {"readout": "sum"},
        {"readout": "max"},
        {"readout": "attention", "self_loops": True},
        {"task": "node", "self_loops": True},
    )
]
DTYPES = [torch.float32] * 6 + [torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64]
INDEX_DTYPES = [torch.int64] * 4 + [torch.int32, torch.int16, torch.uint8, torch.float32, torch.bool]
NOT_TENSORS = st.sampled_from([None, 3, 1.5, "edges", [], [[0, 1], [1, 0]], {}, object()])


@st.composite
def feature_tensors(draw: st.DrawFn, width: int = 2) -> Any:
    if draw(st.integers(0, 15)) == 0:
        return draw(NOT_TENSORS)
    rows = draw(st.integers(0, 5))
    shape = draw(st.sampled_from([(rows, width)] * 9 + [(rows,), (rows, width + 1), (rows, 0), (), (1, rows, width)]))
    tensor = torch.ones(shape).mul(0.5).to(draw(st.sampled_from(DTYPES)))
    layout = draw(st.integers(0, 19))
    if tensor.dim() == 2 and layout == 0:
        return tensor.to_sparse_csr()
    if layout == 1:
        return tensor.to_sparse(layout=torch.sparse_coo)
    return tensor


@st.composite
def edge_tensors(draw: st.DrawFn) -> Any:
    kind = draw(st.integers(0, 15))
    if kind == 0:
        return draw(NOT_TENSORS)
    if kind == 1:
        rows, columns = draw(st.integers(0, 5)), draw(st.integers(0, 5))
        layout = draw(st.sampled_from([torch.sparse_csr, torch.sparse_csc, torch.sparse_coo]))
        return torch.ones(rows, columns).to_sparse(layout=layout)
    edges = draw(st.lists(st.tuples(st.integers(-2, 6), st.integers(-2, 6)), max_size=6))
    if draw(st.booleans()):
        edges = [(abs(sender) % 2, abs(receiver) % 2) for sender, receiver in edges]
    tensor = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    if kind == 2:
        size = draw(st.integers(5, 9))
        if tensor.numel() == 0 or (int(tensor.min()) >= 0 and int(tensor.max()) < size):
            return EdgeIndex(tensor, sparse_size=(size, size))
    if kind == 3:
        return draw(st.sampled_from([tensor.t().contiguous(), tensor.view(-1), tensor.unsqueeze(0), tensor[:1]]))
    return tensor.to(draw(st.sampled_from(INDEX_DTYPES)))


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, Any]:
    if draw(st.booleans()):
        return None, draw(st.sampled_from([None, None, 1, 3, 0, -1, 1.5, "2", True]))
    if draw(st.integers(0, 9)) == 0:
        return draw(NOT_TENSORS), None
    graph_of_node = draw(st.lists(st.integers(-1, 3), max_size=5))
    batch = torch.tensor(graph_of_node, dtype=torch.int64).to(draw(st.sampled_from(INDEX_DTYPES)))
    return batch, draw(st.sampled_from([None, None, 4, 2, 0, -3, 2.0, "a"]))


def is_good(x: Any, edges: Any, width: int = 2, sparse_x: bool = False) -> bool:
    """Whether a layer of single precision must take this graph, decided without its help."""
    if not isinstance(x, Tensor) or x.dim() != 2 or x.size(1) != width or x.dtype != torch.float32:
        return False
    if x.layout != torch.strided and not sparse_x:
        return False
    if not isinstance(edges, Tensor):
        return False
    n = x.size(0)
    if isinstance(edges, EdgeIndex):
        return bool(edges.sparse_size() == (n, n))
    if edges.layout != torch.strided:
        return tuple(edges.shape) == (n, n)
    if edges.dtype not in (torch.int32, torch.int64) or edges.dim() != 2 or edges.size(0) != 2:
        return False
    return edges.numel() == 0 or (int(edges.min()) >= 0 and int(edges.max()) < n)


def refused(call: Any, *arguments: Any, names: tuple[str, ...], **options: Any) -> Any:
    """The result, or ``None`` after a ``ValueError`` that names one of the arguments. Anything else is a failure."""
    try:
        return call(*arguments, **options)
    except ValueError as error:
        message = str(error)
    assert any(name in message for name in names), message
    assert "\n" not in message.strip(), message
    return None


@settings(max_examples=500, deadline=None)
@given(x=feature_tensors(), edges=edge_tensors())
def test_the_layer_takes_or_refuses(x: Any, edges: Any) -> None:
    out = refused(CONV, x, edges, names=("x must", "x[", "edge_index", "sender"))
    assert (out is not None) == is_good(x, edges)
    if out is not None:
        assert out.shape == (x.size(0), 3)
        assert out.isfinite().all()


@settings(max_examples=200, deadline=None)
@given(x=feature_tensors(), edges=edge_tensors(), edge_attr=feature_tensors())
def test_the_layer_with_edge_features_takes_or_refuses(x: Any, edges: Any, edge_attr: Any) -> None:
    out = refused(EDGE_CONV, x, edges, edge_attr, names=("x must", "x[", "edge_index", "edge_attr"))
    if out is not None:
        assert is_good(x, edges)
        assert edge_attr.dtype == torch.float32
        assert out.isfinite().all()


@settings(max_examples=200, deadline=None)
@given(sender=feature_tensors(), receiver=feature_tensors(width=3), edges=edge_tensors(), third=st.booleans())
def test_the_bipartite_layer_takes_or_refuses(sender: Any, receiver: Any, edges: Any, third: bool) -> None:
    pair = (sender, receiver, receiver) if third else (sender, receiver)
    out = refused(BIPARTITE, pair, edges, names=("x must", "x[0]", "x[1]", "edge_index"))
    if out is not None:
        assert not third
        assert out.shape == (receiver.size(0), 3)
        assert out.isfinite().all()


@settings(max_examples=500, deadline=None)
@given(model=st.sampled_from(MODELS), x=feature_tensors(), edges=edge_tensors(), grouping=batches())
def test_models_take_or_refuse(model: MSHGNN, x: Any, edges: Any, grouping: tuple[Any, Any]) -> None:
    batch, batch_size = grouping
    names = ("x must", "x has", "edge_index", "batch")
    out = refused(model, x, edges, batch, names=names, batch_size=batch_size)
    if out is not None:
        assert is_good(x, edges, sparse_x=True)
        assert out.isfinite().all()
        assert out.size(1) == 2
        if model.task == "graph" and batch_size is not None:
            assert out.size(0) == batch_size
    elif is_good(x, edges, sparse_x=True) and batch is None and batch_size is None:
        raise AssertionError("a good graph was refused")


COUNTS = st.one_of(st.integers(-3, 4), st.floats(), st.none(), st.text(max_size=2), st.booleans(), st.just((2, 2)))
NUMBERS = st.one_of(st.floats(), st.integers(-2, 2), st.none(), st.text(max_size=2), st.booleans())
NAMES = st.one_of(
    st.sampled_from(["sum", "mean", "sqrt_degree", "max", "mlp", "residual", "frequency", "node", "softmax", "last"]),
    st.none(),
    st.integers(),
    st.text(max_size=3),
    st.just(["sum"]),
)
SWITCHES = st.one_of(st.booleans(), st.sampled_from(["no", "true", 0, 1, 1.0, None]))
FREQUENCIES: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.floats(), max_size=3),
    st.sampled_from(["exponential", "learned", "none", "", "Exponential", None, 2.0, [None], ["1", "x"], [[1.0]], {}]),
)
CONV_OPTIONS = {
    "in_channels": COUNTS,
    "out_channels": COUNTS,
    "num_projections": COUNTS,
    "frequencies": FREQUENCIES,
    "aggr": NAMES,
    "edge_dim": COUNTS,
    "phase_scale": NUMBERS,
}
MODEL_OPTIONS = {
    "in_channels": st.one_of(COUNTS),
    "out_channels": COUNTS,
    "hidden_channels": COUNTS,
    "num_layers": COUNTS,
    "num_projections": COUNTS,
    "readout_channels": COUNTS,
    "edge_dim": COUNTS,
    "frequencies": FREQUENCIES,
    "aggr": NAMES,
    "task": NAMES,
    "update": NAMES,
    "readout": NAMES,
    "readout_reduce": NAMES,
    "gate": NAMES,
    "fusion": NAMES,
    "dropout": NUMBERS,
    "phase_scale": NUMBERS,
    "phase": SWITCHES,
    "self_loops": SWITCHES,
    "embed_norm": SWITCHES,
}


@settings(max_examples=250, deadline=None)
@given(data=st.data(), option=st.sampled_from(sorted(CONV_OPTIONS)))
def test_options_of_the_layer_are_taken_or_refused_by_name(data: st.DataObject, option: str) -> None:
    value = data.draw(CONV_OPTIONS[option])
    options: dict[str, Any] = {"in_channels": 2, "out_channels": 3, "num_projections": 2, option: value}
    conv = refused(MSHConv, names=(option,), **options)
    if conv is None:
        return
    assert not isinstance(value, bool)
    edge_attr = None if conv.edge_dim is None else torch.ones(1, conv.edge_dim)
    # a width of -1 is taken from the input
    widths = [2 if width == -1 else width for width in (conv.sender_channels, conv.receiver_channels)]
    x = torch.ones(2, widths[0]), torch.ones(2, widths[1])
    out = conv(x, torch.tensor([[0], [1]]), edge_attr)
    assert out.shape == (2, conv.out_channels)
    if option != "phase_scale":  # any number will do there, and a huge one overflows
        assert out.isfinite().all()


@settings(max_examples=250, deadline=None)
@given(data=st.data(), option=st.sampled_from(sorted(MODEL_OPTIONS)))
def test_options_of_the_model_are_taken_or_refused_by_name(data: st.DataObject, option: str) -> None:
    value = data.draw(MODEL_OPTIONS[option])
    options: dict[str, Any] = {
        "in_channels": 2,
        "out_channels": 3,
        "hidden_channels": 4,
        "num_layers": 1,
        "num_projections": 2,
        option: value,
    }
    model = refused(MSHGNN, names=(option,), **options)
    if model is None:
        return
    assert isinstance(value, bool) == (MODEL_OPTIONS[option] is SWITCHES)
    if isinstance(value, float):
        assert math.isfinite(value)
    edge_attr = None if model.edge_dim is None else torch.ones(1, model.edge_dim)
    out = model(torch.ones(2, model.in_channels), torch.tensor([[0], [1]]), edge_attr=edge_attr)
    assert out.size(1) == model.head[-1].out_features


def test_indices_of_a_sparse_adjacency_are_checked() -> None:
    broken = torch.sparse_csr_tensor(
        torch.tensor([0, 1, 1]), torch.tensor([7]), torch.ones(1), (2, 2), check_invariants=False
    )
    assert refused(CONV, torch.ones(2, 2), broken, names=("sender holds node index 7",)) is None
    assert refused(MODELS[0].edge_attention, torch.ones(2, 2), broken, names=("sender holds node index 7",)) is None
