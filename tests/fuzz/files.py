"""Readers and saved models meet damaged files: they give what is in them, or one line."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-not-found, unused-ignore]
import torch

from fuzz.mutations import mutated
from fuzz.targets import Target
from mshgnn.data import GraphDataset
from mshgnn.data.readers.on_disk import SORTED
from mshgnn.data.readers.own import load_own
from mshgnn.errors import UserError
from mshgnn.lab.experiment import load_experiment
from mshgnn.models import from_pretrained
from mshgnn.nn import MSHGNN

INPUTS = 10_000  # of each kind of file

JSONL = b"""{"edges": [[0, 1], [1, 2]], "node_features": [[0.5], [1], [-2e3]], "target": 0}
{"edges": [[0, 1]], "node_features": [[1], [2]], "target": 1}
{"edges": [], "node_features": [[0]], "target": 1}
"""
LABELLED = b"""{"edges": [[0, 1]], "node_labels": ["C", "N"], "edge_features": [[1.0]], "target": "a"}
{"edges": [[0, 1]], "node_labels": ["N", "O"], "edge_features": [[0.5]], "target": "b"}
"""
TU = {
    "SMALL_A.txt": b"1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "SMALL_graph_indicator.txt": b"1\n1\n1\n2\n2\n",
    "SMALL_graph_labels.txt": b"1\n-1\n",
    "SMALL_node_labels.txt": b"3\n5\n9\n3\n3",
    "SMALL_node_attributes.txt": b"0.5, 1\n1, 2\n3, 4\n5, 6\n7, 8e-1\n",
}
TABLES = {
    "nodes.csv": b"id,age,height,label,split\na,3,1.5,yes,train\nb,4,-2e1,no,val\nc,0,7,yes,test\nd,6,.5,,\n",
    "edges.csv": b"source,target,weight\na,b,1\nb,c,0.5\nc,d,2\n",
}
MOLECULES = {"molecules.csv": b"smiles,y,name\nCCO,1,ethanol\nc1ccccc1,0,benzene\n[Na+].[Cl-],1,salt\nCC(=O)O,0,\n"}
EXPERIMENT = b"""name: mine
dataset: {name: MUTAG, encodings: {rwpe: 4}}
model: &model {name: gcn, hidden_channels: 8}
training: {epochs: 3, learning_rate: 1e-3, patience: 2}
folds: [0, 1]
seeds: [0, 7]
"""

Folder = Mapping[str, bytes]


def _npy(values: Any, dtype: str) -> bytes:
    written = io.BytesIO()
    np.save(written, np.array(values, dtype))
    return written.getvalue()


def _npz(**arrays: Any) -> bytes:
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **{name: np.array(values) for name, values in arrays.items()})
    return written.getvalue()


ARRAYS = {
    "x.npy": _npy([[0.5, 1], [2, -3], [4, 5], [6, 7]], "float32"),
    "edge_index.npy": _npy([[0, 1, 2, 3, 0], [3, 2, 1, 0, 2]], "int64"),
    "y.npy": _npy([0, 1, -1, 1], "int64"),
    "split.npy": _npy([0, 1, 2, -1], "int64"),
}


def _arrow(*columns: Any, rows: int | None = None) -> bytes:
    table, written = pa.table(list(columns), names=[f"c{place}" for place in range(len(columns))]), io.BytesIO()
    with pa.ipc.new_file(written, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return written.getvalue()


IN_ARROW = {
    "x.arrow": _arrow(pa.array([[0.5, 1], [2, -3], [4, 5], [6, 7]], pa.list_(pa.float32(), 2))),
    "edge_index.arrow": _arrow(pa.array([0, 1, 2, 3, 0]), pa.array([3, 2, 1, 0, 2])),
    "y.arrow": _arrow(pa.array([0, 1, -1, 1]), rows=3),
}
SORTED_EDGES = _npy([[3, 2, 1, 0, 0], [0, 1, 2, 2, 3]], "int64")
DENSE = _npz(
    node_features=[[0.5, 1], [2, 3], [4, 5]],
    edges=[[0, 1], [1, 2]],
    node_labels=[0, 1, -1],
    **{
        f"{part}_masks": [[place == number for place in range(3)]]
        for number, part in enumerate(("train", "val", "test"))
    },
)
SPARSE = _npz(
    adj_data=[1.0, 1.0], adj_indices=[1, 0], adj_indptr=[0, 1, 2], adj_shape=[2, 2],
    attr_data=[1.0, 0.5], attr_indices=[0, 2], attr_indptr=[0, 1, 2], attr_shape=[2, 3], labels=[0, 1],
)  # fmt: skip


class Kind(NamedTuple):
    """Files that are read as they are, and what is said of them."""

    name: str
    files: Folder
    target: tuple[str, ...] = ()

    def load(self, folder: Path) -> GraphDataset:
        """Read them from a folder."""
        return load_own(folder if len(self.files) > 1 else folder / next(iter(self.files)), target=self.target)


@contextmanager
def one_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mshgnn-fuzz-") as folder:
        yield Path(folder)


def write_damaged(draw: random.Random, files: Folder, folder: Path) -> None:
    """The files with at least one of them changed, at times one missing."""
    hit = draw.choice(list(files))
    for name, content in files.items():
        path = folder / name
        path.unlink(missing_ok=True)
        if name == hit or draw.random() < 0.1:
            content = mutated(draw, content)
        if draw.random() > 0.02:
            path.write_bytes(content)


def check_refusal(error: UserError, most_lines: int = 20) -> None:
    lines = str(error).splitlines()
    assert 1 <= len(lines) <= most_lines, f"a refusal of {len(lines)} lines"
    assert max(map(len, lines)) < 2000, "a refusal as long as the file"


def read(draw: random.Random, folder: Path, kinds: list[Kind]) -> None:
    """A data set whose numbers are finite, or a line."""
    kind = draw.choice(kinds)
    place = folder / kind.name
    shutil.rmtree(place, ignore_errors=True)  # a reader may keep a file beside those it reads
    place.mkdir()
    write_damaged(draw, kind.files, place)
    try:
        dataset = kind.load(place)
    except UserError as error:
        check_refusal(error, most_lines=1)
        return
    for graph in dataset.graphs:
        assert bool(torch.isfinite(graph.x).all())
        assert graph.edge_index.numel() == 0 or int(graph.edge_index.max()) < int(graph.num_nodes)


def read_experiment(draw: random.Random, folder: Path) -> None:
    write_damaged(draw, {"mine.yaml": EXPERIMENT}, folder)
    try:
        load_experiment(folder / "mine.yaml").resolved()
    except UserError as error:
        check_refusal(error)


@contextmanager
def saved_model() -> Iterator[tuple[Path, Folder]]:
    with one_folder() as folder:
        model = MSHGNN(3, 2, hidden_channels=4, num_projections=2, num_layers=1)
        model.save_pretrained(folder)
        yield folder, {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def read_model(draw: random.Random, saved: tuple[Path, Folder]) -> None:
    """A model whose weights fit its options, or a line; never more memory than the files deserve."""
    folder, files = saved
    write_damaged(draw, files, folder)
    if draw.random() < 0.5:  # options of the right form, any value
        config = json.loads(files["config.json"])
        option = draw.choice(list(config["options"]))
        config["options"][option] = draw.choice([None, True, 0, -1, 10**9, 0.5, "x", [], {}, [1.0] * 40, "sum", 2])
        (folder / "config.json").write_text(json.dumps(config))
    try:
        from_pretrained(folder)
    except UserError as error:
        check_refusal(error)


def reader(name: str, kinds: list[Kind]) -> Target:
    promise = "A damaged file is a data set of finite numbers or one line."
    return Target(f"reader of {name}", promise, INPUTS, partial(read, kinds=kinds), one_folder)


def _packed(files: Folder, pack: Callable[[bytes], bytes]) -> Folder:
    return {f"{name}.gz": pack(content) for name, content in files.items()}


READ = {
    ".jsonl": [Kind("plain", {"mine.jsonl": JSONL}), Kind("labelled", {"mine.jsonl": LABELLED})],
    "TU text": [Kind("tu", TU)],
    "node tables": [Kind("tables", TABLES)],
    "arrays on the disk": [
        Kind("unsorted", ARRAYS),
        Kind("sorted before", ARRAYS | {SORTED: SORTED_EDGES}),
        Kind("arrow", IN_ARROW),
    ],
    ".npz": [Kind("dense", {"mine.npz": DENSE}), Kind("sparse", {"mine.npz": SPARSE})],
    "molecules": [Kind("plain", MOLECULES, ("y",)), Kind("packed", _packed(MOLECULES, gzip.compress), ("y",))],
}
FILES = (
    *(reader(name, kinds) for name, kinds in READ.items()),
    Target("experiments", "A damaged experiment is one, or a line per mistake.", INPUTS, read_experiment, one_folder),
    Target("saved models", "A damaged folder is a model or one line.", INPUTS, read_model, saved_model),
)
