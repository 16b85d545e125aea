"""A million molecules: predicted and trained on for one epoch, with the memory of a thousand.

The rows of a table are repeated in a new order until there are enough. Training reads them once into arrays on the
disk, one byte per number, and reads shuffled batches out of these. Each measurement is a process of its own,
``python -m mshgnn.benchmarks.million KIND FOLDER``.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mshgnn.errors import UserError
from mshgnn.files import check_writable
from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes
from mshgnn.training.batches import GraphBatch, PackedGraphs

BATCH = 128
CHUNK = 2_000
"""Molecules that are in memory at once."""
SEED = 0
NARROW = {"x": np.uint8, "edge_index": np.int32, "edge_attr": np.uint8, "y": np.int64}


def write_rows(source: Path, target: str, rows: int, out: Path) -> None:
    """``rows`` rows of the molecules and one target of a table, all of them in a new order again and again."""
    from mshgnn.data.readers.table import read_table

    table = read_table(source)
    smiles, targets = table.cells("smiles"), table.cells(target)
    random = np.random.default_rng(SEED)
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["smiles", "target"])
        left = rows
        while left:
            order = random.permutation(len(smiles))[:left]
            writer.writerows((smiles[row], targets[row]) for row in order)
            left -= len(order)


def pack(path: Path, folder: Path) -> None:
    """Every molecule of a table as rows of arrays in ``folder``, a chunk of molecules in memory at a time."""
    files = {name: (folder / f"{name}.raw").open("wb") for name in (*NARROW, "nodes", "edges")}
    widths: dict[str, int] = {}
    for graphs in _chunks(path):
        columns = {
            "x": np.concatenate([graph.x.numpy() for graph in graphs]),
            "edge_index": np.concatenate([graph.edge_index.t().numpy() for graph in graphs]),
            "edge_attr": np.concatenate([graph.edge_attr.numpy() for graph in graphs]),
            "y": np.array([[graph.y] for graph in graphs]),
        }
        for name, values in columns.items():
            widths[name] = values.shape[1]
            files[name].write(values.astype(NARROW[name]).tobytes())
        files["nodes"].write(np.array([graph.num_nodes for graph in graphs]).tobytes())
        files["edges"].write(np.array([graph.edge_index.shape[1] for graph in graphs]).tobytes())
    for file in files.values():
        file.close()
    (folder / "widths.json").write_text(json.dumps(widths))


def _chunks(path: Path) -> Iterator[list[Any]]:
    """Molecules that can be read, some at a time."""
    from mshgnn.data.readers.asked import Asked
    from mshgnn.data.readers.stream import stream_rows

    rows = (row for row in stream_rows(path, Asked(on_error="skip")) if row.graph is not None)
    while piece := list(islice(rows, CHUNK)):
        for row in piece:
            row.graph.y = int(float(row.targets["target"] or 0))  # type: ignore[union-attr]
        yield [row.graph for row in piece]


def train(folder: Path) -> dict[str, Any]:
    """Pack the table of a folder, then one epoch over it."""
    from mshgnn.models import build
    from mshgnn.training.loop import forward, make_optimiser
    from mshgnn.training.settings import TrainingSettings

    torch.manual_seed(SEED)
    begin = time.perf_counter()
    pack(folder / "rows.csv", folder)
    packed_seconds = time.perf_counter() - begin
    molecules = Molecules(folder)
    options = {"hidden_channels": 64, "num_layers": 4, "edge_dim": molecules.widths["edge_attr"]}
    model = build("msh-stable", molecules.widths["x"], 2, task="graph", options=options).train()
    optimiser = make_optimiser(model, TrainingSettings())
    order = torch.randperm(len(molecules), generator=torch.Generator().manual_seed(SEED))
    begin, steps = time.perf_counter(), 0
    for chosen in order.tensor_split(-(-len(order) // BATCH)):
        batch = molecules.read(chosen.numpy())
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.nn.functional.cross_entropy(forward(model, batch), batch.y))
        optimiser.step()
        steps += 1
    seconds = time.perf_counter() - begin
    return {"packed_seconds": packed_seconds, "epoch_seconds": seconds, "steps": steps, "molecules": len(molecules)}


class Molecules:
    """What :func:`pack` wrote. It is read, not mapped: a system may map a megabyte of a file around each page read."""

    def __init__(self, folder: Path) -> None:
        self.widths: dict[str, int] = json.loads((folder / "widths.json").read_text())
        self._files = {name: (folder / f"{name}.raw").open("rb", buffering=0) for name in NARROW}
        nodes, edges = (np.fromfile(folder / f"{name}.raw", np.int64) for name in ("nodes", "edges"))
        self._counts = {"x": nodes, "edge_index": edges, "edge_attr": edges, "y": np.ones_like(nodes)}
        self._ends = {name: np.cumsum(counts) for name, counts in self._counts.items()}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._counts["y"])

    def read(self, chosen: npt.NDArray[np.int64]) -> GraphBatch:
        """The chosen molecules as a batch."""
        rows = {name: self._rows(name, chosen) for name in NARROW}
        nodes, edges = (torch.from_numpy(np.cumsum([0, *self._counts[name][chosen]])) for name in ("x", "edge_index"))
        graphs = PackedGraphs(
            rows["x"].float(),
            rows["edge_index"].long().t(),
            rows["edge_attr"].float(),
            rows["y"].flatten(),
            nodes,
            edges,
        )
        return next(graphs.batches([0, len(chosen)]))

    def _rows(self, name: str, chosen: npt.NDArray[np.int64]) -> torch.Tensor:
        """What one file has of the chosen molecules, end to end."""
        width, file = self.widths[name], self._files[name].fileno()
        counts, ends = self._counts[name][chosen], self._ends[name][chosen]
        size = width * np.dtype(NARROW[name]).itemsize
        places = zip((counts * size).tolist(), ((ends - counts) * size).tolist(), strict=True)
        content = bytearray().join(os.pread(file, *place) for place in places)
        return torch.from_numpy(np.frombuffer(content, NARROW[name]).reshape(-1, width))


def predict(folder: Path) -> dict[str, Any]:
    """Every row of the folder's table through the folder's model, into a file."""
    from mshgnn.predictor.ensemble import Ensemble
    from mshgnn.predictor.predict import predict_file

    model = Ensemble.load(folder / "model")
    begin = time.perf_counter()
    written = predict_file(model, folder / "rows.csv", folder / "predictions.csv")
    return {"predict_seconds": time.perf_counter() - begin, "molecules": written.rows - written.failed}


def measure(kind: str, folder: Path) -> dict[str, Any]:
    """One measurement in this process, on one thread."""
    torch.set_num_threads(1)
    before = resident_memory_bytes()
    reset_peak_memory()
    found = train(folder) if kind == "train" else predict(folder)
    return {"kind": kind, **found, "libraries_bytes": before, "peak_bytes": peak_memory_bytes()}


def million(source: Path, target: str, sizes: list[int], folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Train and predict tables of several sizes; the model that predicts has seen the smallest of them."""
    from mshgnn.benchmarks.compare import environment

    rows = []
    check_writable(folder / "rows.csv")
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        write_rows(source, target, size, folder / "rows.csv")
        if not (folder / "model").exists():
            _run(["-m", "mshgnn", "train", str(folder / "rows.csv"), "--out", str(folder / "model"),
                  "--epochs", "1", "--no-controls", "--on-error", "skip"])  # fmt: skip
        for kind in ("predict", "train"):
            row = json.loads(_run(["-m", "mshgnn.benchmarks.million", kind, str(folder)]).splitlines()[-1])
            rows.append({"rows": size, **row})
            seconds = row.get("predict_seconds") or row["packed_seconds"] + row["epoch_seconds"]
            say(f"{kind}: {row['molecules']:,} molecules, {seconds:.0f} s, {row['peak_bytes'] / 1e9:.2f} GB at most")
    return {"environment": environment(), "source": source.name, "rows": rows}


def _run(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{' '.join(arguments[1:3])}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
