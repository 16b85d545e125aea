"""A million molecules: predicted and trained on for one epoch, with the memory of a thousand.

The rows of a table are repeated in a new order until there are enough. Training reads them once into arrays on the
disk, one byte per number, and takes shuffled batches out of these. Each measurement is a process of its own,
``python -m mshgnn.benchmarks.million KIND FOLDER``.
"""

from __future__ import annotations

import csv
import json
import mmap
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mshgnn.errors import UserError
from mshgnn.files import check_writable
from mshgnn.machine import peak_memory_bytes, reset_peak_memory, resident_memory_bytes

BATCH = 128
CHUNK = 2_000
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
    from mshgnn.training.batches import PackedGraphs
    from mshgnn.training.loop import forward, make_optimiser
    from mshgnn.training.settings import TrainingSettings

    torch.manual_seed(SEED)
    begin = time.perf_counter()
    pack(folder / "rows.csv", folder)
    packed_seconds = time.perf_counter() - begin
    widths = json.loads((folder / "widths.json").read_text())
    maps: dict[str, Any] = {
        name: np.memmap(folder / f"{name}.raw", NARROW[name], "c").reshape(-1, widths[name]) for name in NARROW
    }
    counts = (np.fromfile(folder / f"{name}.raw", np.int64) for name in ("nodes", "edges"))
    node_start, edge_start = (torch.from_numpy(np.concatenate([[0], np.cumsum(own)])) for own in counts)
    tensors = {name: torch.from_numpy(np.asarray(values)) for name, values in maps.items()}
    graphs = PackedGraphs(
        tensors["x"],
        tensors["edge_index"].t(),
        tensors["edge_attr"],
        tensors["y"].flatten(),
        node_start,
        edge_start,
    )
    options = {"hidden_channels": 64, "num_layers": 4, "edge_dim": widths["edge_attr"]}
    model = build("msh-stable", widths["x"], 2, task="graph", options=options).train()
    optimiser = make_optimiser(model, TrainingSettings())
    begin, steps = time.perf_counter(), 0
    for narrow in graphs.shuffled_batches(BATCH, torch.Generator().manual_seed(SEED)):
        assert narrow.edge_attr is not None
        batch = replace(
            narrow, x=narrow.x.float(), edge_index=narrow.edge_index.long(), edge_attr=narrow.edge_attr.float()
        )
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.nn.functional.cross_entropy(forward(model, batch), batch.y))
        optimiser.step()
        steps += 1
        for values in maps.values():
            values._mmap.madvise(mmap.MADV_DONTNEED)  # pages that were read count no longer
    seconds = time.perf_counter() - begin
    return {"packed_seconds": packed_seconds, "epoch_seconds": seconds, "steps": steps, "molecules": len(graphs)}


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
