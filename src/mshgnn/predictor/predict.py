"""``mshgnn predict``: files of any size through a trained model, chunk by chunk."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import FLOAT
from mshgnn.data.readers.asked import Asked, Cell, Row
from mshgnn.data.readers.node_tables import node_tables, read_bare_nodes
from mshgnn.data.readers.npz_graph import read_bare_npz
from mshgnn.data.readers.on_disk import is_on_disk, read_bare_on_disk
from mshgnn.data.readers.stream import columns_of, read_bare_line, stream_rows
from mshgnn.data.readers.table import is_table
from mshgnn.errors import Failure
from mshgnn.predictor.columns import Columns
from mshgnn.predictor.ensemble import Ensemble, OnError, Prediction
from mshgnn.predictor.output import check_out, check_table, written_table

CHUNK, CHUNK_BYTES = 500, 2**26
"""Rows that are in memory at once, and what their graphs may take, unless one alone takes more."""
BARE_NODES = {".jsonl": read_bare_line, ".npz": read_bare_npz}
"""Files of one graph whose nodes are numbered, by their ending."""
NOTHING = Prediction(torch.empty(0, 0), torch.empty(0, 0), torch.empty(0), ())
EXTRA = ("distance", "beyond_training", "status")


class PredictionFailed(Failure):
    """A file of which not one row could be predicted."""


class Chunk(NamedTuple):
    """Rows of a file, those that could be predicted among them, and what was predicted for these."""

    rows: Sequence[Row]
    usable: Sequence[int]
    problems: Sequence[str]
    """One for each row; empty where it could be predicted."""
    found: Prediction


class Written(NamedTuple):
    """How many rows a file had, how many of them could not be predicted, and why not the first of these."""

    rows: int
    failed: int
    first_problem: str
    beyond: int


def columns_of_source(model: Ensemble, path: Path) -> list[str]:
    """The columns of a file as the rows of ``predicted`` have them."""
    if model.schema.task == "graph":
        return columns_of(path)
    return ["node"] if _bare_reader(path) else columns_of(table_of(model, path))


def table_of(model: Ensemble, path: Path) -> Path:
    """The table whose columns are the targets: the file itself, or that of the nodes."""
    return _node_tables(path)[0] if model.schema.task == "node" else path


def predicted(model: Ensemble, path: Path, *, on_error: OnError = "skip", chunk: int = CHUNK) -> Iterator[Chunk]:
    """A file through the model, ``chunk`` rows at a time; on a node task the one graph as a whole."""
    if model.schema.task == "node":
        rows, found = _node_rows(model, path)
        yield Chunk(rows, range(len(rows)), [""] * len(rows), found)
        return
    columns = sum(member.model.in_channels for member in model.members)
    for rows in _chunks(stream_rows(path, model.asked(on_error)), chunk, FLOAT * columns):
        problems: list[str] = []
        encoded: list[tuple[Data, ...]] = []
        for row in rows:
            problems.append(row.problem)
            if row.graph is not None:
                try:
                    encoded.append(model.encode(row.graph, row.where))
                except DataError as error:
                    if on_error == "stop":
                        raise
                    problems[-1] = str(error)
        usable = [index for index, problem in enumerate(problems) if not problem]
        yield Chunk(rows, usable, problems, model.predict(encoded) if encoded else NOTHING)


def _node_rows(model: Ensemble, path: Path) -> tuple[list[Row], Prediction]:
    rows, graph, where = read_nodes(model, path)
    return rows, model.predict([model.encode(graph, where)])


def read_nodes(model: Ensemble, path: Path) -> tuple[list[Row], Data, str]:
    """The nodes of the one graph of a node task as rows, the graph as it stands in the file, and where that is."""
    if reader := _bare_reader(path):
        graph, columns = reader(path, model.asked("stop"))
        if len(columns) == len(model.target_names) == 1:  # whatever a file of its kind calls it
            columns = dict(zip(model.target_names, columns.values(), strict=True))
        listed = zip(*columns.values(), strict=True)
        given = [dict(zip(columns, cells, strict=True)) for cells in listed] or [{}] * int(graph.num_nodes)
        rows = [Row(f"{path}: node {n}", {"node": str(n)}, cells, None) for n, cells in enumerate(given)]
        return rows, graph, str(path)
    nodes, graph = read_bare_nodes(_node_tables(path), model.asked("stop"))
    cells_of = [{name: cells[row] for name, cells in nodes.columns.items()} for row in range(len(nodes))]
    rows = [Row(nodes.where(index), cells, cells, None) for index, cells in enumerate(cells_of)]
    return rows, graph, str(nodes.path)


def has_named_columns(model: Ensemble, path: Path) -> bool:
    """Whether the header of a file says which targets it has."""
    return is_table(path) if model.schema.task == "graph" else _bare_reader(path) is None


def _bare_reader(path: Path) -> Callable[[Path, Asked], tuple[Data, dict[str, list[Cell]]]] | None:
    """What reads a graph whose nodes are numbered; ``None`` for tables, whose nodes have names."""
    return read_bare_on_disk if path.is_dir() and is_on_disk(path) else BARE_NODES.get(path.suffix)


def _node_tables(path: Path) -> tuple[Path, Path]:
    if not path.exists():
        raise DataError(f"{path}: file not found")
    folder = path if path.is_dir() else path.parent if path.name.startswith("nodes.") else None
    tables = None if folder is None else node_tables(folder)
    if tables is None:
        kinds = "nodes.csv and edges.csv in a folder, a .npz, a .jsonl or a folder of arrays"
        raise DataError(f"{path}: the model was trained on nodes; give {kinds}")
    return tables


def predict_file(model: Ensemble, path: Path, out: Path, *, on_error: OnError = "skip", chunk: int = CHUNK) -> Written:
    """Write every row of ``path`` with its prediction to ``out``, which appears whole or not at all."""
    check_out(out, path)
    check_table(out)
    own = columns_of_source(model, path)
    columns = Columns(model.schema, own, len(model.members), model.calibration)
    extra = [name if name not in {*own, *columns.names} else f"{name}_predicted" for name in EXTRA]
    total = failed = beyond = 0
    first = ""
    with written_table(out) as (file, delimiter):
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*own, *columns.names, *extra])
        for piece in predicted(model, path, on_error=on_error, chunk=chunk):
            cells = iter(zip(columns.rows(piece.found), piece.found.distance.tolist(), strict=True))
            for row, problem in zip(piece.rows, piece.problems, strict=True):
                total += 1
                kept = [row.cells[name] for name in own]
                if problem:
                    failed, first = failed + 1, first or problem
                    writer.writerow([*kept, *[""] * (len(columns.names) + 2), problem])
                    continue
                new, distance = next(cells)
                beyond += distance > 1
                writer.writerow([*kept, *new, f"{distance:.4g}", int(distance > 1), "ok"])
        if total == 0:
            raise DataError(f"{path}: there are no rows")
    if failed == total:
        raise PredictionFailed(f"{path}: not one of {total:,} rows could be predicted, the first: {first}")
    return Written(total, failed, first, beyond)


def _chunks(rows: Iterator[Row], size: int, node_bytes: int) -> Iterator[list[Row]]:
    """So many rows at a time, fewer where they are large: a node is to take ``node_bytes`` besides what was read."""
    piece: list[Row] = []
    held = 0
    for row in rows:
        piece.append(row)
        held += sum(map(len, row.cells.values()))
        if row.graph is not None:
            held += node_bytes * int(row.graph.num_nodes)
            held += sum(value.nbytes for _, value in row.graph if isinstance(value, Tensor))
        if len(piece) == size or held > CHUNK_BYTES:
            yield piece
            piece, held = [], 0
    if piece:
        yield piece
