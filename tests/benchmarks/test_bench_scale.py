"""Growth with the size of the graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from mshgnn.benchmarks import scale
from mshgnn.cli import main


def test_power_law_graph() -> None:
    nodes, edges = 2_000, 100_000
    edge_index = scale.power_law_graph(nodes, edges)
    assert edge_index.shape == (2, edges)
    assert int(edge_index.min()) >= 0
    assert int(edge_index.max()) < nodes
    assert torch.equal(edge_index.flip(0), edge_index.roll(edges // 2, 1))
    # the share of the i-th largest node falls as i^-0.4: compare the largest hundredth with what that predicts
    degrees = torch.bincount(edge_index[0], minlength=nodes).sort(descending=True).values
    share = float(degrees[: nodes // 100].sum()) / edges
    assert share == pytest.approx(0.01 ** (1 - scale.SKEW), rel=0.1)
    assert torch.equal(edge_index, scale.power_law_graph(nodes, edges))


def test_exponent_of_an_exact_power() -> None:
    rows = [{"edges": m, "step_seconds": 3e-7 * m**1.07} for m in scale.EDGES]
    assert scale.exponent(rows) == pytest.approx(1.07)
    assert scale.exponent(rows[:2]) is None


def test_sizes_below_a_million_do_not_count() -> None:
    rows = [{"edges": m, "step_seconds": 1.0 if m < 10**6 else 1e-6 * m} for m in scale.EDGES]
    assert scale.exponent(rows) == pytest.approx(1.0)


def test_one_size() -> None:
    row = scale.measure_one(4_000, steps=2, threads=1)
    assert (row["edges"], row["nodes"], len(row["all_step_seconds"])) == (4_000, 80, 2)
    assert row["step_seconds"] == min(row["all_step_seconds"])
    assert row["peak_bytes"] > 2**26
    assert 0 < row["loss"] < 20


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(scale, "EDGES", (2_000, 4_000))
    out = tmp_path / "scale.json"
    monkeypatch.setattr(sys, "argv", ["mshgnn", "bench", "scale", "--steps", "1", "--threads", "1", "--out", str(out)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    record = json.loads(out.read_text())
    for key, variant in (("rows", "plain"), ("local_rows", "local"), ("kept_rows", "kept")):
        assert [(row["edges"], row["variant"]) for row in record[key]] == [(2_000, variant), (4_000, variant)]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "edges" in capsys.readouterr().out


def test_too_small_a_limit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["mshgnn", "bench", "scale", "--largest", "10"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "largest must be at least 100,000 edges, got 10" in capsys.readouterr().err
