"""Reader of one graph in two tables: ``nodes.csv`` (id, features, target, split) and ``edges.csv`` (from, to, ...)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from mshgnn.data.dataset import WEIGHT, DataError
from mshgnn.data.limits import FLOAT, check_limit, check_nodes, size_of
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.read import Read, as_read
from mshgnn.data.readers.table import SUFFIXES, Table, read_table
from mshgnn.data.readers.target_columns import read_targets
from mshgnn.data.transforms import DEGREE_CAP, set_degree


def node_tables(folder: Path) -> tuple[Path, Path] | None:
    """The two tables of a folder, or None where it has no ``nodes`` table."""
    found = [[path for end in SUFFIXES if (path := folder / f"{name}{end}").exists()] for name in ("nodes", "edges")]
    if not found[0]:
        return None
    for name, paths in zip(("nodes", "edges"), found, strict=True):
        if len(paths) != 1:
            listed = ", ".join(path.name for path in paths) or "none"
            raise DataError(f"{folder}: expected one table {name}.csv, found {listed}")
    return found[0][0], found[1][0]


def read_node_tables(paths: tuple[Path, Path], name: str, asked: Asked) -> Read:
    """Read a node task. Ids may be anything; edges go both ways unless ``asked.directed``."""
    return understand_tables(*_read_tables(paths), name, asked)


def understand_tables(nodes: Table, edges: Table, name: str, asked: Asked) -> Read:
    """Two tables as a node task."""
    asked.check_ignored(nodes.path, (*nodes.columns, *edges.columns))
    id_column = _id_column(nodes, asked)
    ids = _ids(nodes, id_column)
    split_column = asked.split or "split"
    not_targets = [id_column, split_column, asked.weight or ""]
    target_names = asked.targets_of(nodes, not_targets, ["target", "label", "y"])
    bad = BadRows(asked.on_error)
    weights, splits = asked.weights_of(nodes, bad), asked.split_of(nodes, bad)
    targets = read_targets({key: nodes.cells(key) for key in target_names}, nodes.where, asked, bad)
    used = {*not_targets, *target_names, *asked.ignore}
    features = asked.schema.feature_names if asked.schema else tuple(c for c in nodes.columns if c not in used)
    graph, edge_names = bare_graph(nodes, edges, ids, features, asked)
    graph.y = targets.values
    if features:
        graph.x = asked.schema.scaled(graph.x, str(nodes.path)) if asked.schema else graph.x
    elif asked.schema is not None:
        graph.x = asked.schema.degrees(graph.edge_index, len(ids), str(nodes.path))
    else:
        set_degree([graph], DEGREE_CAP, nodes.path)
    if weights is not None:
        graph[WEIGHT] = weights
    if splits is not None:
        for word in ("train", "val", "test"):
            graph[f"{word}_mask"] = torch.tensor([split == word for split in splits])
    return as_read(
        [graph],
        name,
        "node",
        targets,
        asked,
        feature_names=features,
        edge_names=edge_names,
        columns={"id": id_column},
        degree_cap=None if features else int(graph.x.shape[1]) - 1,
        skipped=bad,
    )


def read_bare_nodes(paths: tuple[Path, Path], asked: Asked) -> tuple[Table, Data]:
    """The table of nodes and its graph for a trained model: features unscaled, targets neither needed nor read."""
    nodes, edges = _read_tables(paths)
    ids = _ids(nodes, _id_column(nodes, asked))
    features = asked.schema.feature_names if asked.schema else ()
    return nodes, bare_graph(nodes, edges, ids, features, asked)[0]


def bare_graph(
    nodes: Table, edges: Table, ids: dict[str, int], features: tuple[str, ...], asked: Asked
) -> tuple[Data, tuple[str, ...]]:
    """Edges, and the features asked for as they are; with the names of the edge features."""
    edge_index, edge_names, edge_attr = _edges(edges, ids, asked)
    graph = Data(edge_index=edge_index, num_nodes=len(ids))
    if edge_attr is not None:
        graph.edge_attr = edge_attr
    if features:
        check_limit("memory", FLOAT * len(ids) * len(features), nodes.path)
        graph.x = nodes.numbers(features)
    return graph, edge_names


def _read_tables(paths: tuple[Path, Path]) -> tuple[Table, Table]:
    nodes, edges = (read_table(path) for path in paths)
    check_nodes(len(nodes), sum(map(size_of, paths)), nodes.path)  # a Parquet file counts ids in no bytes at all
    return nodes, edges


def _id_column(nodes: Table, asked: Asked) -> str:
    usual = "id" if "id" in nodes.columns else next(iter(nodes.columns), "id")
    return asked.known_columns.get("id") or asked.id or usual


def _ids(nodes: Table, column: str) -> dict[str, int]:
    if len(nodes) == 0:
        raise DataError(f"{nodes.path}: there are no nodes")
    ids: dict[str, int] = {}
    for row, cell in enumerate(nodes.cells(column)):
        if not cell.strip():
            raise DataError(f"{nodes.where(row, column)}: a node without an id")
        if ids.setdefault(cell.strip(), row) != row:
            first = nodes.lines[ids[cell.strip()]]
            raise DataError(f"{nodes.where(row, column)}: node {cell[:40]!r} is on line {first}, too")
    return ids


def _edges(edges: Table, ids: dict[str, int], asked: Asked) -> tuple[Tensor, tuple[str, ...], Tensor | None]:
    """Edge index, names of the edge features, and the features ``[edges, names]`` or None."""
    if len(edges.columns) < 2:
        raise DataError(f"{edges.path}: line 1: the first two columns must name the nodes an edge joins")
    ends = list(edges.columns)[:2]
    pairs = [[_known(edges, ids, row, column) for row in range(len(edges))] for column in ends]
    listed = torch.tensor(pairs, dtype=torch.long).reshape(2, -1)
    loops = (listed[0] == listed[1]).nonzero()
    if len(loops):
        raise DataError(f"{edges.where(int(loops[0]))}: the edge joins a node to itself")
    rest = (column for column in edges.columns if column not in {*ends, *asked.ignore})
    names = asked.schema.edge_names if asked.schema else tuple(rest)
    attributes = edges.numbers(names) if names else None
    if attributes is not None:
        _check_once(edges, listed, attributes, directed=asked.directed)
    if not asked.directed:
        listed = torch.cat([listed, listed.flip(0)], dim=1)
        attributes = None if attributes is None else torch.cat([attributes, attributes])
    edge_index, attributes = coalesce(listed, attributes, len(ids), reduce="mean")  # repeats are equal: checked
    return edge_index, names, attributes


def _known(edges: Table, ids: dict[str, int], row: int, column: str) -> int:
    cell = edges.columns[column][row].strip()
    if cell not in ids:
        raise DataError(f"{edges.where(row, column)}: node {cell[:40]!r} is not in the table of nodes")
    return ids[cell]


def _check_once(edges: Table, listed: Tensor, attributes: Tensor, *, directed: bool) -> None:
    """Refuse an edge that is there twice with different features."""
    first: dict[tuple[int, int], int] = {}
    for row, (sender, receiver) in enumerate(listed.t().tolist()):
        key = (sender, receiver) if directed or sender < receiver else (receiver, sender)
        before = first.setdefault(key, row)
        if before != row and not torch.equal(attributes[before], attributes[row]):
            hint = "" if directed else "; if edges go one way, say directed"
            raise DataError(
                f"{edges.where(row)}: the edge of line {edges.lines[before]} again, with other features{hint}"
            )
