"""Rows of a file one after the other, for a trained model: any size of file, targets where there are some."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_nodes
from mshgnn.data.readers.asked import Asked, Cell, Row
from mshgnn.data.readers.jsonl import Line, first_keys, parse_line, raw_graph
from mshgnn.data.readers.molecules import molecule
from mshgnn.data.readers.table import Table, broken_row, is_table, open_rows
from mshgnn.data.readers.text import printable, text_lines, unreadable
from mshgnn.data.readers.tu_own import tu_rows


def stream_rows(path: Path, asked: Asked) -> Iterator[Row]:
    """The rows of a table of molecules or a ``.jsonl``, or the graphs of a folder in TU text form.

    With ``on_error`` ``stop`` the first bad one is refused.
    """
    _check_kind(path)
    for row in _rows(path, asked):
        if row.problem and asked.on_error == "stop":
            raise DataError(row.problem)
        yield row


def _rows(path: Path, asked: Asked) -> Iterator[Row]:
    if path.is_dir():
        if asked.schema is None:
            raise DataError(f"{path}: a folder is read graph by graph for a trained model alone")
        return tu_rows(path, asked.schema)
    return _lines(path, asked) if path.suffix == ".jsonl" else _molecules(path, asked)


def columns_of(path: Path) -> list[str]:
    """The columns that :class:`Row` will have."""
    _check_kind(path)
    if path.is_dir():
        return ["graph"]
    return ["line", *first_keys(path, "id")] if path.suffix == ".jsonl" else open_rows(path)[0]


def _check_kind(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: file not found")
    if not (any(path.glob("*_A.txt")) if path.is_dir() else path.suffix == ".jsonl" or is_table(path)):
        raise DataError(
            f"{path}: the model is one of graphs; give a .jsonl, a table of SMILES (.csv, .parquet) or a folder in TU "
            "text form"
        )


def _molecules(path: Path, asked: Asked) -> Iterator[Row]:
    names, rows = open_rows(path, marked=True)
    smiles = asked.known_columns.get("smiles", asked.smiles)
    Table(path, {name: [] for name in names}, []).cells(smiles)  # refuses a column that is not there
    for line, cells in rows:
        where = f"{path}: line {line}"
        graph, problem = None, broken_row(cells, names)
        padded = dict(zip(names, [*map(printable, cells), *[""] * len(names)], strict=False))
        if not problem:
            try:
                graph = molecule(padded[smiles], f"{where}: column {smiles!r}")
            except DataError as error:
                problem = str(error)
            except ValueError as error:
                problem = f"column {smiles!r}: {error}"
        if problem and not problem.startswith(where):
            problem = f"{where}: {problem}"
        yield Row(where, padded, padded, graph, problem)


def _lines(path: Path, asked: Asked) -> Iterator[Row]:
    ids = dict.fromkeys(first_keys(path, "id"), "")
    for number, line in text_lines(path, marked=True):
        where = f"{path}: line {number}"
        graph, problem = None, ""
        targets: dict[str, Cell] = {}
        cells = {"line": str(number), **ids}
        try:
            if unread := unreadable(line):
                raise ValueError(unread)
            parsed = _parsed(line, where, asked)
            if parsed.node_targets is not None:
                raise ValueError("it has node_targets, but the model is one of graphs")
            graph, targets = _graph(parsed, asked), parsed.targets
            cells.update(dict.fromkeys(ids, parsed.id))
        except RecursionError:
            problem = f"{where}: nested too deeply"
        except DataError as error:
            problem = str(error)
        except ValueError as error:
            problem = f"{where}: {error}"
        yield Row(where, cells, targets, graph, problem)


def read_bare_line(path: Path, asked: Asked) -> tuple[Data, dict[str, list[Cell]]]:
    """The one graph of a ``.jsonl`` for a model of nodes, and what it says of the nodes' targets, if anything."""
    lines = text_lines(path)
    number, line = next(lines, (1, ""))
    where = f"{path}: line {number}"
    try:
        parsed = _parsed(line, where, asked)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from error
    if next(lines, None) is not None:
        raise DataError(f"{path}: line {number + 1}: the model is one of nodes, whose graph is a single line")
    return _graph(parsed, asked), {} if parsed.node_targets is None else {"target": parsed.node_targets}


def _parsed(text: str, where: str, asked: Asked) -> Line:
    """A line for a trained model, which may have many more labels than the line."""
    line = parse_line(text, where, needs_target=False)
    check_nodes(line.num_nodes, len(text), where, columns=asked.schema.label_columns if asked.schema else 0)
    return line


def _graph(line: Line, asked: Asked) -> Data:
    return raw_graph(line, len(line.edge_features[0]) if line.edge_features else 0, directed=asked.directed)
