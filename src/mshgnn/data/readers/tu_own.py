"""A user's folder in TU text form: whole, as a data set with its schema, or graph by graph for a trained model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected

from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_nodes, size_of
from mshgnn.data.readers.asked import Asked, Cell, Row
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.read import Read, as_read
from mshgnn.data.readers.target_columns import named_columns, read_targets
from mshgnn.data.readers.tu_text import TUTables, read_tu_folder, separate
from mshgnn.data.schema import Label, Schema
from mshgnn.data.transforms import DEGREE_CAP, set_degree

TABLES = (
    "A",
    "graph_indicator",
    "graph_labels",
    "graph_attributes",
    "node_labels",
    "node_attributes",
    "edge_labels",
    "edge_attributes",
)


def read_tu_graphs(folder: Path, asked: Asked) -> Read:
    """Read ``NAME_A.txt`` and its companions; attributes and one-hot labels are both used, degrees if neither."""
    asked.refuse(folder, "weight", "id", "split", "ignore", "directed")
    name = _name(folder)
    if asked.schema is not None:
        return _read_again(folder, name, asked, asked.schema)
    tables = read_tu_folder(folder, name, needs_target=not (folder / f"{name}_graph_attributes.txt").exists())
    graphs = separate(tables.tensors)
    there = _targets(tables)
    usual = ["target"] if "target" in there else list(there)
    names = asked.names_among(tuple(there), usual, str(folder))
    bad = BadRows(asked.on_error)
    targets = read_targets({key: there[key] for key in names}, lambda row, _: f"{folder}: graph {row + 1}", asked, bad)
    for index, (graph, y) in enumerate(zip(graphs, torch.split(targets.values, 1), strict=True)):
        try:
            _check_both_ways(graph, f"{folder / name}_A.txt: graph {index + 1}")
        except DataError as error:
            bad.add(index, str(error))
        graph.y = y
    graphs = [graph for index, graph in enumerate(graphs) if index not in bad]
    degrees = bool(graphs) and "x" not in graphs[0]
    if degrees:
        set_degree(graphs, DEGREE_CAP, folder)
    return as_read(
        graphs,
        name,
        "graph",
        targets,
        asked,
        node_labels=_only(tables.node_labels),
        edge_labels=_only(tables.edge_labels),
        degree_cap=int(graphs[0].x.shape[1]) - 1 if degrees else None,
        skipped=bad,
    )


def tu_rows(folder: Path, schema: Schema) -> Iterator[Row]:
    """The graphs of a folder one after the other, for a model of ``schema``; targets are not needed."""
    name = _name(folder)
    tables = read_tu_folder(folder, name, needs_target=False)
    for table, columns in (("node_labels", tables.node_labels), ("edge_labels", tables.edge_labels)):
        if len(columns) > 1:
            path = folder / f"{name}_{table}.txt"
            raise DataError(f"{path}: {len(columns)} columns of labels; a trained model takes one")
    check_nodes(int(tables.tensors["nodes"].sum()), size_of(folder), folder, columns=schema.label_columns)
    there = _targets(tables)
    for index, graph in enumerate(separate(tables.tensors)):
        where = f"{folder}: graph {index + 1}"
        targets = {key: cells[index] for key, cells in there.items()}
        bare, problem = None, ""
        try:
            bare = _bare(graph, tables, schema, where)
        except DataError as error:
            problem = str(error)
        yield Row(where, {"graph": str(index + 1)}, targets, bare, problem)


def _targets(tables: TUTables) -> dict[str, list[Cell]]:
    """The graphs' targets by name: ``target`` from ``graph_labels``, ``attribute`` from ``graph_attributes``."""
    there: dict[str, list[Cell]] = {}
    if "y" in tables.tensors:
        there["target"] = [tables.class_names[code] for code in tables.tensors["y"].tolist()]
    return there | named_columns(tables.graph_attributes, "attribute")


def _name(folder: Path) -> str:
    """The NAME of the only ``NAME_A.txt``; a table that nobody would read is refused."""
    names = sorted(path.name.removesuffix("_A.txt") for path in folder.glob("*_A.txt"))
    if len(names) != 1:
        found = f"found {', '.join(names)}" if names else "found none"
        raise DataError(f"{folder}: expected one NAME_A.txt, {found}")
    for path in sorted(folder.glob(f"{names[0]}_*.txt")):
        if path.stem.removeprefix(f"{names[0]}_") not in TABLES:
            raise DataError(f"{path}: unknown table; known are {', '.join(TABLES)}")
    return names[0]


def _check_both_ways(graph: Data, where: str) -> None:
    if not is_undirected(graph.edge_index, num_nodes=graph.num_nodes):
        raise DataError(f"{where}: an edge is listed in one direction only; the TU form lists both")


def _only(columns: tuple[tuple[int, ...], ...]) -> tuple[Label, ...]:
    """The labels of a single column; several columns stay numbers that no later file is read by."""
    return columns[0] if len(columns) == 1 else ()


def _bare(graph: Data, tables: TUTables, schema: Schema, where: str) -> Data:
    """A graph with its attributes as ``x``, its labels as they stand in the file, and edges as the model has them."""
    _check_both_ways(graph, where)
    bare = Data(edge_index=graph.edge_index, num_nodes=int(graph.num_nodes))
    attributes = tables.sizes["num_node_attributes"]
    if attributes:
        bare.x = graph.x[:, :attributes]
    if tables.node_labels:
        bare.labels = [tables.node_labels[0][code] for code in graph.x[:, attributes:].argmax(dim=1).tolist()]
    if graph.get("edge_attr") is not None:
        bare.edge_attr = _edge_columns(graph.edge_attr, tables, schema.edge_labels, where)
    return bare


def _edge_columns(edge_attr: Tensor, tables: TUTables, known: tuple[Label, ...], where: str) -> Tensor:
    """One-hot labels of this folder in the columns of a trained model; one that it has not seen is refused."""
    if not known or not tables.edge_labels:
        return edge_attr
    first = tables.sizes["num_edge_attributes"]
    columns = torch.zeros(len(edge_attr), len(known))
    for column, label in zip(edge_attr[:, first:].unbind(dim=1), tables.edge_labels[0], strict=True):
        if label in known:
            columns[:, known.index(label)] = column
        elif bool(column.any()):
            raise DataError(f"{where}: edge label {label} was not in the training data")
    return torch.cat([edge_attr[:, :first], columns], dim=1)


def _read_again(folder: Path, name: str, asked: Asked, schema: Schema) -> Read:
    """The folder with the columns and classes of an earlier file."""
    rows, bad = list(tu_rows(folder, schema)), BadRows(asked.on_error)
    names = schema.target_names or ("target",)
    graphs: list[Data] = []
    for index, row in enumerate(rows):
        if names[0] not in row.targets:
            raise DataError(f"{folder / name}_graph_labels.txt: file not found")
        if row.graph is None:
            bad.add(index, row.problem)
            continue
        try:
            row.graph.x = schema.features(row.graph, row.where)
        except DataError as error:
            bad.add(index, str(error))
    columns = {target: [row.targets[target] for row in rows] for target in names}
    targets = read_targets(columns, lambda row, _: rows[row].where, asked, bad)
    for index, (row, y) in enumerate(zip(rows, torch.split(targets.values, 1), strict=True)):
        if row.graph is not None and index not in bad:
            row.graph.y = y
            graphs.append(row.graph)
    return as_read(graphs, name, "graph", targets, asked, skipped=bad)
