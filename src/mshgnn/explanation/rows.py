"""The rows of a file that are to be explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.readers.asked import Row
from mshgnn.data.readers.stream import columns_of, stream_rows
from mshgnn.errors import UserError, did_you_mean
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.predict import columns_of_source, read_nodes


class Chosen(NamedTuple):
    """A row, its graph as it stands in the file, and what to call it and its nodes."""

    title: str
    row: Row
    graph: Data
    node: int | None
    node_names: Sequence[str]
    smiles: str | None


def choose_rows(model: Ensemble, path: Path, rows: Sequence[int], ids: Sequence[str]) -> list[Chosen]:
    """The rows with these numbers, counted from 0, then those with these ids; one that is not there is refused."""
    if not rows and not ids:
        raise UserError("which row? give --row (counted from 0) or --id")
    if rows and min(rows) < 0:
        raise UserError(f"--row {min(rows)}: rows are counted from 0")
    if model.schema.task == "node":
        return _nodes(model, path, rows, ids)
    if not path.exists():
        raise DataError(f"{path}: file not found")
    column = _id_column(model, path, columns_of(path)) if ids else None
    found = _found(enumerate(stream_rows(path, model.asked("skip"))), path, rows, ids, column)
    return [_graph(title, row) for title, _, row in found]


def _graph(title: str, row: Row) -> Chosen:
    if row.graph is None:
        raise DataError(row.problem)
    smiles: str | None = row.graph.get("smiles")
    if smiles is None:
        labels = row.graph.get("labels")
        count = int(row.graph.num_nodes)
        names = [str(node) if labels is None else f"{node} ({labels[node]})" for node in range(count)]
    else:
        from rdkit import Chem

        names = [f"{atom.GetSymbol()}{atom.GetIdx()}" for atom in Chem.MolFromSmiles(smiles).GetAtoms()]
    return Chosen(title, row, row.graph, None, names, smiles)


def _nodes(model: Ensemble, path: Path, rows: Sequence[int], ids: Sequence[str]) -> list[Chosen]:
    listed, graph, _ = read_nodes(model, path)
    columns = columns_of_source(model, path)
    column = _id_column(model, path, columns) if ids or "node" not in columns else "node"
    names = [row.cells[column].strip() for row in listed]
    found = _found(enumerate(listed), path, rows, ids, column)
    return [Chosen(f"node {names[number]}", row, graph, number, names, None) for _, number, row in found]


def _id_column(model: Ensemble, path: Path, columns: Sequence[str]) -> str:
    known = dict(model.schema.columns or {}).get("id") or model.config.id_column
    for name in (known, "id", "node"):
        if name is not None and name in columns:
            return name
    if path.suffix == ".jsonl":
        raise UserError(f"--id: {path} has no ids, only lines; give --row")
    if model.schema.task == "node":
        return columns[0]
    raise UserError(f"--id: {path} has no column 'id' (its columns: {', '.join(columns[:8])}); give --row")


def _found(
    listed: Iterator[tuple[int, Row]], path: Path, rows: Sequence[int], ids: Sequence[str], column: str | None
) -> list[tuple[str, int, Row]]:
    """Title, number and row of each that is wanted, in the order of the wishes."""
    by_row: dict[int, Row] = {}
    by_id: dict[str, tuple[int, Row]] = {}
    seen: list[str] = []
    count = 0
    wanted = len(set(rows)) + len(set(ids))
    for number, row in listed:
        count += 1
        if number in rows:
            by_row[number] = row
        if column is not None and ids:
            name = row.cells[column].strip()
            if len(seen) < 10_000:
                seen.append(name)
            if name in ids:
                by_id.setdefault(name, (number, row))
        if len(by_row) + len(by_id) == wanted:
            break
    for number in rows:
        if number not in by_row:
            raise UserError(f"--row {number}: {path} has {count:,} rows, counted from 0")
    for name in ids:
        if name not in by_id:
            near = did_you_mean(name, seen) if len(seen) < 10_000 else ""
            raise UserError(f"--id: no row of {path} has {name!r} in column {column!r}{near[:200]}")
    return [(f"row {number}", number, by_row[number]) for number in rows] + [(name, *by_id[name]) for name in ids]
