"""Rows of a file one after the other, for a trained model: any size of file, targets where there are some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.readers.asked import Asked, Cell
from mshgnn.data.readers.jsonl import bare_graph, parse_line
from mshgnn.data.readers.molecules import molecule
from mshgnn.data.readers.table import Table, is_table, open_rows, wrong_length
from mshgnn.data.readers.text import text_lines


class Row(NamedTuple):
    """One row of a file. The graph is not encoded yet: it has ``x`` as numbers, or ``labels``, or neither."""

    where: str
    cells: Mapping[str, str]
    """All columns as text; only ``line`` for a ``.jsonl``."""
    targets: Mapping[str, Cell]
    """What the file says of its targets, by name."""
    graph: Data | None
    problem: str = ""
    """Why there is no graph."""


def stream_rows(path: Path, asked: Asked) -> Iterator[Row]:
    """The rows of a table of molecules or of a ``.jsonl``; with ``on_error`` ``stop`` the first bad one is refused."""
    if path.suffix == ".jsonl":
        rows = _lines(path)
    elif is_table(path):
        rows = _molecules(path, asked)
    elif not path.exists():
        raise DataError(f"{path}: file not found")
    else:
        raise DataError(f"{path}: expected a .jsonl or a table of SMILES (.csv, .tsv, .parquet)")
    for row in rows:
        if row.problem and asked.on_error == "stop":
            raise DataError(row.problem)
        yield row


def columns_of(path: Path) -> list[str]:
    """The columns that :class:`Row` will have."""
    return ["line"] if path.suffix == ".jsonl" else open_rows(path)[0]


def _molecules(path: Path, asked: Asked) -> Iterator[Row]:
    names, rows = open_rows(path)
    smiles = asked.known_columns.get("smiles", asked.smiles)
    Table(path, {name: [] for name in names}, []).cells(smiles)  # refuses a column that is not there
    for line, cells in rows:
        where = f"{path}: line {line}"
        padded = dict(zip(names, [*cells, *[""] * len(names)], strict=False))
        graph, problem = None, wrong_length(cells, names)
        if not problem:
            try:
                graph = molecule(padded[smiles], where)
            except DataError as error:
                problem = str(error)
            except ValueError as error:
                problem = f"column {smiles!r}: {error}"
        if problem and not problem.startswith(where):
            problem = f"{where}: {problem}"
        yield Row(where, padded, padded, graph, problem)


def _lines(path: Path) -> Iterator[Row]:
    for number, line in text_lines(path):
        where = f"{path}: line {number}"
        graph, problem = None, ""
        targets: dict[str, Cell] = {}
        try:
            parsed = parse_line(line, where, needs_target=False)
            if parsed.node_targets is not None:
                raise ValueError("it has node_targets, but the model is one of graphs")
            graph = bare_graph(parsed, len(parsed.edge_features[0]) if parsed.edge_features else 0)
            targets = parsed.targets
            if parsed.node_features is not None:
                graph.x = torch.tensor(parsed.node_features, dtype=torch.float32)
            if parsed.node_labels is not None:
                graph.labels = parsed.node_labels
        except RecursionError:
            problem = f"{where}: nested too deeply"
        except DataError as error:
            problem = str(error)
        except ValueError as error:
            problem = f"{where}: {error}"
        yield Row(where, {"line": str(number)}, targets, graph, problem)
