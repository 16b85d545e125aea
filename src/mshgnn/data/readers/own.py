"""A user's own graphs from files, by one door."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from mshgnn.data.dataset import DataError, GraphDataset, Metric, Objective
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.jsonl import read_jsonl
from mshgnn.data.readers.molecules import read_molecules
from mshgnn.data.readers.node_tables import node_tables, read_node_tables
from mshgnn.data.readers.npz_graph import read_npz_graph
from mshgnn.data.readers.on_disk import is_on_disk, read_on_disk
from mshgnn.data.readers.read import Read
from mshgnn.data.readers.table import is_table
from mshgnn.data.readers.tu_own import read_tu_graphs
from mshgnn.data.schema import Schema


def load_own(
    path: str | Path,
    *,
    target: str | Iterable[str] = (),
    smiles: str = "smiles",
    objective: Objective | None = None,
    metric: Metric | None = None,
    id_column: str | None = None,
    split_column: str | None = None,
    weight_column: str | None = None,
    ignore: Iterable[str] = (),
    directed: bool = False,
    schema: Schema | None = None,
    on_error: Literal["stop", "skip"] = "stop",
) -> GraphDataset:
    """Read a user's file or folder; ``read_own`` also gives its schema.

    - a ``.jsonl``: one graph per line, with one target for each graph or, on a single line, for each node;
    - a table of molecules: ``.csv``, ``.tsv`` (also ``.gz``) or ``.parquet`` with a column of SMILES;
    - a folder with ``nodes.csv`` and ``edges.csv``, or a ``.npz``: one graph whose nodes have targets;
    - a folder with ``x.npy``, ``edge_index.npy`` and ``y.npy``, or these as ``.arrow``: the same, left on the disk;
    - a folder in TU text form.

    Every row is checked; the first bad one is refused with its file, line and column.

    Args:
        path: the file or folder.
        target: target columns of a table, ``*`` for all that are left; by default ``target`` (nodes also ``label``,
            ``y``), or the only column left.
        smiles: the column of SMILES strings.
        objective: ``classify``, ``rank``, ``regress`` or ``multilabel``; by default the targets decide.
        metric: what it is measured by; the objective's first by default.
        id_column: the nodes' ids; by default ``id``, else the first column.
        split_column: ``train``, ``val``, ``test`` or nothing for each row; by default ``split`` where there is one.
        weight_column: how much each row counts in the training loss, from 0; figures count every row once.
        ignore: columns to leave out.
        directed: edges go only from the first node of a pair to the second.
        schema: of a model already trained: labels, classes and columns find their old places.
        on_error: ``skip`` leaves rows out that cannot be read, their targets included, with one line in the log; a
            node stays without its target. ``stop`` refuses.
    """
    asked = Asked(
        target=(target,) if isinstance(target, str) else tuple(target),
        smiles=smiles,
        objective=objective,
        metric=metric,
        id=id_column,
        split=split_column,
        weight=weight_column,
        ignore=tuple(ignore),
        directed=directed,
        schema=schema,
        on_error=on_error,
    )
    return read_own(path, asked).dataset


def read_own(path: str | Path, asked: Asked | None = None) -> Read:
    """The data set of ``load_own``, and the schema that made it."""
    path, asked = Path(path), asked or Asked()
    if path.is_dir():
        if is_on_disk(path):
            return read_on_disk(path, asked)
        tables = node_tables(path)
        return read_node_tables(tables, path.name, asked) if tables else read_tu_graphs(path, asked)
    if path.suffix == ".jsonl":
        return read_jsonl(path, asked)
    if path.suffix == ".npz":
        return read_npz_graph(path, asked)
    if is_table(path):
        tables = node_tables(path.parent) if path.name.startswith("nodes.") else None
        return read_node_tables(tables, path.parent.name, asked) if tables else read_molecules(path, asked)
    if not path.exists():
        raise DataError(f"{path}: file not found")
    raise DataError(
        f"{path}: expected a .jsonl, a table of SMILES (.csv, .tsv, .parquet), a .npz, or a folder with nodes.csv and "
        "edges.csv or in TU text form"
    )
