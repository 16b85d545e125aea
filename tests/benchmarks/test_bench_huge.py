"""A graph on the disk, and a table of repeated molecules, as the benchmarks measure them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mshgnn.benchmarks import huge, million
from mshgnn.cli import main
from mshgnn.data import load_own
from mshgnn.data.readers.molecules import molecule
from mshgnn.errors import UserError


@pytest.mark.parametrize("per_node", [10, 50])
def test_a_step_takes_the_memory_that_was_said(per_node: int) -> None:
    row = huge.apart("bytes", 200_000, per_node, 1)
    assert (row["nodes"], row["edges"]) == (200_000 // per_node, 200_000)
    assert row["said_bytes"] == pytest.approx(row["peak_bytes"], rel=0.25)


def test_a_step_and_what_was_said_of_its_seconds_are_measured() -> None:
    row = huge.apart("seconds", 200_000, 50, 1)
    assert min(row["said_seconds"], row["step_seconds"]) > 0


def test_the_graph_is_made_once(tmp_path: Path) -> None:
    huge.make_graph(tmp_path, 20_000, features=5)
    dataset = load_own(tmp_path)
    (graph,) = dataset.graphs
    assert (int(graph.num_nodes), int(graph.edge_index.size(1)), dataset.num_features) == (400, 20_000, 5)
    pairs = set(zip(*graph.edge_index.tolist(), strict=True))
    assert pairs == {(v, u) for u, v in pairs}
    split = np.load(tmp_path / "split.npy")
    assert np.bincount(split).tolist() == [32, 6, 362]
    before = (tmp_path / "x.npy").stat().st_mtime_ns
    huge.make_graph(tmp_path, 20_000, features=5)
    assert (tmp_path / "x.npy").stat().st_mtime_ns == before
    with pytest.raises(UserError, match="holds another graph, of 20,000 edges and 5 features"):
        huge.make_graph(tmp_path, 10_000, features=5)


def test_every_kind_of_work_is_measured(tmp_path: Path) -> None:
    huge.make_graph(tmp_path, 5_000)
    rows = {kind: huge.measure(kind, tmp_path, 2, 1) for kind in ("open", "neighbours", "partitions", "inference")}
    assert {row["edges"] for row in rows.values()} == {5_000}
    assert rows["neighbours"]["steps_per_epoch"] == 1
    assert rows["partitions"]["step_seconds"] > 0
    assert rows["inference"]["inference_seconds"] > 0


def test_the_command_writes_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def apart(kind: str, *arguments: object, memory: str | None = None) -> dict[str, object]:
        asked.append((kind, memory))
        return {"kind": kind, "step_seconds": 1.0, "peak_bytes": 5}

    monkeypatch.setattr(huge, "apart", apart)
    out = tmp_path / "huge.json"
    arguments = ["bench", "huge", str(tmp_path / "graph"), "--edges", "1e3", "--memory", "1G", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["mshgnn", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    record = json.loads(out.read_text())
    assert record["memory"] == "1G"
    assert asked == [(kind, "1G") for kind in ("open", "neighbours", "partitions", "inference")]


def test_a_table_is_repeated_packed_and_trained_on(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    source = tmp_path / "few.csv"
    source.write_text("smiles,active\nCCO,0\nc1ccccc1,1\nno molecule,0\nCC(=O)O,0\n")
    million.write_rows(source, "active", 10, tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert len(lines) == 11
    assert sorted(lines[1:5]) == sorted(lines[5:9]) == ["CC(=O)O,0", "CCO,0", "c1ccccc1,1", "no molecule,0"]
    bad = sum("no molecule" in line for line in lines)
    torch.manual_seed(0)
    found = million.train(tmp_path)
    assert (found["molecules"], found["steps"]) == (10 - bad, 1)
    chosen = np.array([5, 0, 2])
    batch = million.Molecules(tmp_path).read(chosen)
    texts = [line.split(",") for line in lines[1:] if "no molecule" not in line]
    graphs = [molecule(texts[number][0]) for number in chosen]
    assert batch.y.tolist() == [int(texts[number][1]) for number in chosen]
    assert torch.equal(batch.x, torch.cat([graph.x for graph in graphs]))
    assert batch.edge_attr is not None
    assert torch.equal(batch.edge_attr, torch.cat([graph.edge_attr for graph in graphs]))
    sizes = [0, graphs[0].num_nodes, graphs[0].num_nodes + graphs[1].num_nodes]
    shifted = [graph.edge_index + size for graph, size in zip(graphs, sizes, strict=True)]
    assert torch.equal(batch.edge_index, torch.cat(shifted, dim=1))
