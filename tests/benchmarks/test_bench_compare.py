"""The comparison measures what it says: the same function, all contenders in every round, ratios of the same round."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from mshgnn.benchmarks import shapes
from mshgnn.benchmarks.contenders import CONTENDERS, FULL, KERNELS, OURS, PRODUCTS, PROJECTIONS
from mshgnn.benchmarks.goals import goals
from mshgnn.benchmarks.measure import alternate, peak_memory, spread
from mshgnn.benchmarks.picture import places, title
from mshgnn.cli import main
from mshgnn.report.named_points import draw_named_points


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated graphs of a few dozen nodes instead of the real ones."""
    monkeypatch.delenv("MSHGNN_MIRROR", raising=False)
    for name, size in list(shapes.SIZES.items()):
        monkeypatch.setitem(shapes.SIZES, name, size._replace(num_graphs=2, num_nodes=40, num_edges=120))


@pytest.mark.parametrize("name", list(shapes.SIZES))
def test_generated_shapes_have_the_published_sizes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MSHGNN_MIRROR", raising=False)
    shape, size = shapes.load_shape(name), shapes.SIZES[name]
    assert shape.source == "generated"
    assert abs(shape.num_nodes / size.num_nodes - 1) < 0.04
    assert abs(shape.edge_index.size(1) / size.num_edges - 1) < 0.001
    assert int(shape.edge_index.min()) >= 0
    assert int(shape.edge_index.max()) < shape.num_nodes
    # undirected, and no edge leaves its graph
    pairs = {tuple(pair) for pair in shape.edge_index[:, :2000].t().tolist()}
    everything = {tuple(pair) for pair in shape.edge_index.t().tolist()}
    assert {(v, u) for u, v in pairs} <= everything
    per_graph = size.num_nodes // size.num_graphs
    assert torch.equal(shape.edge_index[0] // per_graph, shape.edge_index[1] // per_graph)


def test_unknown_shape() -> None:
    with pytest.raises(ValueError, match="shape must be one of Physics, COLLAB, molecules, ten nodes, got 'Citeseer'"):
        shapes.load_shape("Citeseer")


def test_the_peers_are_those_that_one_would_take_instead() -> None:
    pyg = {"GCNConv", "GINConv", "SAGEConv", "GATConv", "GATv2Conv", "TransformerConv", "FiLMConv", "PNAConv"}
    assert set(CONTENDERS) - {OURS, FULL, PRODUCTS, KERNELS} == pyg | {"edge perceptron"}


def test_contenders_are_sampled_in_turn() -> None:
    calls: list[str] = []
    times = alternate({name: (lambda name=name: calls.append(name)) for name in "abc"}, rounds=4, budget=0.0)  # type: ignore[misc]
    assert calls[-12:] == list("abc") * 4
    assert {name: len(values) for name, values in times.items()} == {"a": 4, "b": 4, "c": 4}


def test_spread_is_median_and_quartiles() -> None:
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)


def test_goals_read_the_right_ratios() -> None:
    def row(ratio: float, peak: float = 0.0) -> dict[str, object]:
        # our step takes one second
        return {"training": {"ours_over_it": {"middle": ratio}, "seconds": {"middle": 1 / ratio}}, "peak_bytes": peak}

    contenders = {OURS: row(1.0, 10.0), "GATConv": row(0.09), "GCNConv": row(0.3, 40.0), "PNAConv": row(0.02)}
    contenders |= {FULL: row(0.25), PRODUCTS: row(5.0), KERNELS: row(2.0)}
    found = list(goals({"COLLAB": {"contenders": contenders}}))
    assert [(goal.text.removeprefix("COLLAB: "), goal.measured, goal.met) for goal in found] == [
        ("training step over GATConv", 0.09, True),
        ("training step over GCNConv", 0.3, False),
        ("training step over PNAConv", 0.02, True),
        ("training step over full generator", 0.25, False),
        ("peak memory over GCNConv", 0.25, True),
    ]
    assert [goal.parts for goal in found] == [pytest.approx(0.7 * ratio) for ratio in (0.09, 0.3, 0.02, 0.25)] + [None]


def test_products_alone_are_those_of_the_layer() -> None:
    layer, products = CONTENDERS[OURS](), CONTENDERS[PRODUCTS]()
    # The layer's tables have two more inputs, which its norm adds, and a bias for the shift alone.
    rows = 6 * PROJECTIONS
    more = 2 * rows + 1 - (rows - PROJECTIONS)
    weights, others = (sum(weight.numel() for weight in module.parameters()) for module in (layer, products))
    assert weights - others == more


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory_counts_what_a_step_holds(small: None) -> None:
    size = shapes.SIZES["molecules"]._replace(num_edges=20_000)
    shape = shapes._generated("molecules", size)
    # A perceptron on edges holds its input, twice as wide as the features, and a hidden row for every edge.
    held = 20_000 * 3 * 64 * 4
    assert peak_memory(shape, "edge perceptron", threads=1) > held
    assert peak_memory(shape, OURS, threads=1) < held / 2


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep"
    options = ["--shape", "ten nodes", "--rounds", "1", "--no-memory", "--threads", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["mshgnn", "bench", *options])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    for freed in ("kept", "returned"):
        record = json.loads((out / f"{freed}-1.json").read_text())
        assert set(record["shapes"]["ten nodes"]["contenders"]) == set(CONTENDERS)
        assert record["environment"]["torch"] == torch.__version__
        assert record["environment"]["freed_memory"] == freed
        assert [goal["text"] for goal in record["goals"]] == ["ten nodes: training step over GCNConv"]
    assert not (out / "time-and-memory.png").exists()  # no memory, no place in the picture
    assert "GATv2Conv" in capsys.readouterr().out


def test_the_picture_has_memory_and_time_of_the_layers_and_not_of_their_parts(tmp_path: Path) -> None:
    step = {"training": {"seconds": {"middle": 0.5}}}
    layers = {OURS: {**step, "peak_bytes": 2**21}, "its products alone": step, "GCNConv": {**step, "peak_bytes": 2**22}}
    run = {
        "environment": {"threads": 2, "freed_memory": "kept"},
        "shapes": {"Physics": {"contenders": layers}, "ten nodes": {"contenders": {OURS: {**step, "peak_bytes": 0}}}},
    }
    found = places(run)
    assert found == {"Physics": {OURS: (2.0, 500.0), "GCNConv": (4.0, 500.0)}}
    assert title(run) == "A training step beside PyG's layers: 2 threads, freed memory kept"
    picture = draw_named_points(found, tmp_path / "places.png", title=title(run), x="MB", y="ms", ours=OURS)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_command_refuses_an_unknown_shape(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["mshgnn", "bench", "--shape", "moon"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "got 'moon'" in capsys.readouterr().err
