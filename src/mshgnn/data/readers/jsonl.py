"""Reader of ``.jsonl``: one graph per line.

    {"edges": [[0, 1], [1, 2]], "node_labels": ["C", "C", "O"], "target": 1}

``edges`` are undirected unless asked otherwise, nodes count from 0. Nodes are described by ``node_features`` (a row of
numbers each) or ``node_labels`` (numbers or words, one-hot), or only counted by ``num_nodes`` (degrees become the
features).
``edge_features`` (a row of numbers for each edge) is optional. ``target`` is a class (a whole number or a word), a
number, null where it is missing, or several by name, ``{"a": 0.5, "b": null}``. ``id`` is kept beside predictions;
``split`` is ``train``, ``val`` or ``test``. A node task is one line with ``node_targets`` and, if wanted,
``node_splits``, one for each node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from mshgnn.data.dataset import DataError, Task
from mshgnn.data.limits import check_file, check_limit, check_nodes, size_of
from mshgnn.data.readers.asked import SPLITS, Asked, Cell
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.read import Read, as_read
from mshgnn.data.readers.target_columns import read_targets
from mshgnn.data.readers.text import TOO_LARGE, ClassName, in_order, text_lines, unreadable
from mshgnn.data.schema import Schema
from mshgnn.data.transforms import DEGREE_CAP, set_degree

NODE_KEYS = ("node_features", "node_labels", "num_nodes")
KEYS = {"edges", "edge_features", "target", "node_targets", "id", "split", "node_splits", *NODE_KEYS}


class Line(NamedTuple):
    """One line, checked."""

    num_nodes: int
    edges: list[list[int]]
    node_features: list[list[float]] | None
    node_labels: list[ClassName] | None
    edge_features: list[list[float]] | None
    targets: dict[str, Cell]
    node_targets: list[Cell] | None
    id: str = ""
    split: str | None = None
    """``train``, ``val``, ``test``, or empty for none of them; None where the line says nothing."""
    node_splits: list[str] | None = None


def read_jsonl(path: Path, asked: Asked) -> Read:
    """Read a file of graphs; the first bad row is refused with its line number, or all are left out, by option."""
    asked.refuse(path, "weight", "id", "split")
    rows: list[Line] = []
    lines: list[int] = []
    bad = BadRows(asked.on_error)
    first: Line | None = None
    edge_width: int | None = None
    check_file(path)
    nodes, size = 0, size_of(path)
    for number, line in text_lines(path, marked=asked.on_error == "skip"):
        try:
            if unread := unreadable(line):
                raise ValueError(unread)
            row = parse_line(line, f"{path}: line {number}")
            check_nodes(nodes + row.num_nodes, size, f"{path}: line {number}")
            _check_like_first(row, first or row)
            if row.edge_features:  # the first graph may have no edge
                edge_width = edge_width or len(row.edge_features[0])
                if len(row.edge_features[0]) != edge_width:
                    raise ValueError(f"edge_features have {len(row.edge_features[0])} columns, before {edge_width}")
            first = first or row
        except (ValueError, RecursionError) as error:  # a DataError says itself where
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            reason = reason if isinstance(error, DataError) else f"{path}: line {number}: {reason}"
            bad.add(number - 1, reason)
            continue
        rows.append(row)
        lines.append(number)
        nodes += row.num_nodes
    if not rows or (rows[0].node_targets is not None and bad):  # a line that is all there is cannot be left out
        raise DataError(next(iter(bad.values()), f"{path}: there are no graphs"))
    return _dataset(rows, lines, path, asked, bad)


def parse_line(line: str, where: str, *, needs_target: bool = True) -> Line:
    """One line, checked; without ``needs_target`` it need not have one."""
    if not line.strip():
        raise ValueError("the line is empty")
    content = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    if "\\u" in line:
        _check_escapes(content)
    if not isinstance(content, dict):
        raise ValueError("a graph must be a JSON object {...}")
    unknown = sorted(content.keys() - KEYS)
    if unknown:
        raise ValueError(f"unknown key {unknown[0][:40]!r}; known are {', '.join(sorted(KEYS))}")
    given = [key for key in NODE_KEYS if key in content]
    if len(given) != 1:
        raise ValueError(f"exactly one of {', '.join(NODE_KEYS)} must be given, found {len(given)}")
    if not needs_target and "node_targets" not in content:
        content.setdefault("target", {})
    if ("target" in content) == ("node_targets" in content):
        raise ValueError("missing target" if "target" not in content else "either target or node_targets, not both")
    if "edges" not in content:
        raise ValueError("missing edges (a graph without any has [])")
    features = _matrix(content["node_features"], "node_features") if given == ["node_features"] else None
    labels = _labels(content["node_labels"]) if given == ["node_labels"] else None
    num_nodes = len(features or labels or []) or _node_count(content.get("num_nodes", 0), where)
    edges = _edges(content["edges"], num_nodes)
    edge_features = None
    if "edge_features" in content:
        edge_features = _matrix(content["edge_features"], "edge_features") if edges else []
        if len(edge_features) != len(edges):
            raise ValueError(f"{len(edge_features)} edge_features for {len(edges)} edges")
        if len({tuple(sorted(edge)) for edge in edges}) != len(edges):
            raise ValueError("with edge_features every edge must be listed once")
    parsed = Line(num_nodes, edges, features, labels, edge_features, {}, None, _id(content.get("id", "")))
    if "target" in content:
        given = content["target"]
        named = given if isinstance(given, dict) else {"target": given}
        if "node_splits" in content:
            raise ValueError("node_splits are for node_targets")
        split = _split(content["split"]) if "split" in content else None
        return parsed._replace(targets={name: _target(value) for name, value in named.items()}, split=split)
    if "split" in content:
        raise ValueError("split is for a whole graph; nodes have node_splits")
    splits = _of_nodes(content, "node_splits", num_nodes) if "node_splits" in content else None
    return parsed._replace(
        node_targets=[_target(value) for value in _of_nodes(content, "node_targets", num_nodes)],
        node_splits=None if splits is None else [_split(word) for word in splits],
    )


def first_keys(path: Path, *keys: str) -> list[str]:
    """Which of these keys the first graph has that can be read; what cannot is said with its line later."""
    for _, line in text_lines(path, marked=True):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            return [key for key in keys if key in content]
    return []


def _of_nodes(content: Mapping[str, object], key: str, num_nodes: int) -> list[object]:
    value = content[key]
    if not isinstance(value, list) or len(value) != num_nodes:
        raise ValueError(f"{key} must be a list of {num_nodes} values, one for each node")
    return value


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"id must be a word or a whole number, not {str(value)[:40]}")
    return str(value)


def _split(value: object) -> str:
    word = "" if value is None else SPLITS.get(value.strip().casefold()) if isinstance(value, str) else None
    if word is None:
        raise ValueError(f"split must be train, val, test or null, not {str(value)[:40]!r}")
    return word


def _target(value: object) -> Cell:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float | None):
        raise ValueError(f"target must be a number or a word, not {str(value)[:40]}")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _check_escapes(content: object) -> None:
    r"""Refuse ``\ud800`` alone: half a character is nothing that could be written again."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a \\u escape that is no character ({error.reason})") from None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is there twice")
    return content


def _node_count(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"num_nodes must be a whole number from 1, found {str(value)[:40]!r}")
    check_limit("nodes", value, where)
    return value


def _matrix(value: object, key: str) -> list[list[float]]:
    """Rows of finite numbers, all of one length."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key} must be a list of rows")
    for index, row in enumerate(value):
        if not isinstance(row, list) or not row:
            raise ValueError(f"{key}: row {index} must be a list of numbers")
        if len(row) != len(value[0]):
            raise ValueError(f"{key}: row {index} has {len(row)} numbers, row 0 has {len(value[0])}")
        for entry in row:
            if isinstance(entry, bool) or not isinstance(entry, int | float):
                raise ValueError(f"{key}: row {index} holds {str(entry)[:40]!r}, not a number")
            if not -TOO_LARGE < entry < TOO_LARGE:  # also refuses NaN; an integer may be too long for math.isfinite
                raise ValueError(f"{key}: row {index} holds a number too large, or NaN")
    return value


def _labels(value: object) -> list[ClassName]:
    if not isinstance(value, list) or not value:
        raise ValueError("node_labels must be a list of numbers or words")
    for index, label in enumerate(value):
        if isinstance(label, bool) or not isinstance(label, int | str):
            raise ValueError(f"node_labels: node {index} has {str(label)[:40]}, not a whole number or a word")
    return value


def _edges(value: object, num_nodes: int) -> list[list[int]]:
    if not isinstance(value, list):
        raise ValueError("edges must be a list of pairs")
    for index, edge in enumerate(value):
        if not isinstance(edge, list) or len(edge) != 2 or any(type(end) is not int for end in edge):
            raise ValueError(f"edge {index} must be a pair of node numbers, not {str(edge)[:40]}")
        unknown = [end for end in edge if not 0 <= end < num_nodes]
        if unknown:
            raise ValueError(f"edge {index} names unknown node {str(unknown[0])[:20]} (nodes are 0..{num_nodes - 1})")
        if edge[0] == edge[1]:
            raise ValueError(f"edge {index} joins node {edge[0]} to itself")
    return value


def _check_like_first(row: Line, first: Line) -> None:
    """All graphs must be described alike: same keys, same widths."""
    for key in ("node_features", "node_labels", "edge_features", "split"):
        values, first_values = getattr(row, key), getattr(first, key)
        if (values is None) != (first_values is None):
            raise ValueError(f"{key} must be given for all graphs or for none")
    if row.targets.keys() != first.targets.keys():
        raise ValueError(
            f"targets are {', '.join(row.targets)[:60]}, the first graph has {', '.join(first.targets)[:60]}"
        )
    if row.node_targets is not None and row is not first:
        raise ValueError("a node task is a single graph: node_targets are for a file of one line")
    if row.node_features and first.node_features and len(row.node_features[0]) != len(first.node_features[0]):
        raise ValueError(
            f"node_features have {len(row.node_features[0])} columns, the first graph has {len(first.node_features[0])}"
        )


def _dataset(rows: list[Line], lines: list[int], path: Path, asked: Asked, bad: BadRows) -> Read:
    first, where = rows[0], f"{path}: line {lines[0]}"
    task: Task = "graph" if first.node_targets is None else "node"
    given = first.targets if first.node_targets is None else {"target": None}
    asked.check_ignored(path, given)
    names = asked.names_among(tuple(given), [name for name in given if name not in asked.ignore], where)
    if first.node_targets is not None:
        targets = read_targets({names[0]: first.node_targets}, lambda node, _: f"{path}: node {node}", asked, bad)
    else:
        columns = {name: [row.targets[name] for row in rows] for name in names}
        wrong = BadRows(asked.on_error)
        targets = read_targets(columns, lambda row, name: f"{path}: line {lines[row]}: target {name!r}", asked, wrong)
        bad.update({lines[row] - 1: reason for row, reason in wrong.items()})
        kept = [row for row in range(len(rows)) if row not in wrong]
        if not kept:
            raise DataError(next(iter(bad.values())))
        rows, targets = [rows[row] for row in kept], targets._replace(values=targets.values[kept])
    edge_dim = max((len(row.edge_features[0]) for row in rows if row.edge_features), default=0)
    graphs = [bare_graph(row, edge_dim, directed=asked.directed) for row in rows]
    for graph, row, y in zip(graphs, rows, torch.split(targets.values, len(targets.values) // len(rows)), strict=True):
        graph.y = y
        if row.split is not None:
            graph.split = row.split
        if row.node_splits is not None:
            for word in ("train", "val", "test"):
                graph[f"{word}_mask"] = torch.tensor([split == word for split in row.node_splits])
    labels, degree_cap = _set_features(rows, graphs, path, asked.schema)
    return as_read(graphs, path.stem, task, targets, asked, node_labels=labels, degree_cap=degree_cap, skipped=bad)


def bare_graph(row: Line, edge_dim: int, *, directed: bool = False) -> Data:
    """Edges with their features, both ways unless ``directed``; neither node features nor targets."""
    listed = torch.tensor(row.edges, dtype=torch.long).reshape(-1, 2).t()
    attributes = None
    if edge_dim:
        given = torch.tensor(row.edge_features, dtype=torch.float32).reshape(-1, edge_dim)
        attributes = given if directed else torch.cat([given, given])
    both = listed if directed else torch.cat([listed, listed.flip(0)], dim=1)
    edge_index, attributes = coalesce(both, attributes, row.num_nodes)
    graph = Data(edge_index=edge_index, num_nodes=row.num_nodes)
    if attributes is not None:
        graph.edge_attr = attributes
    return graph


def raw_graph(row: Line, edge_dim: int, *, directed: bool = False) -> Data:
    """The graph as it stands in the file: features as ``x``, labels as ``labels``."""
    graph = bare_graph(row, edge_dim, directed=directed)
    if row.node_features is not None:
        graph.x = torch.tensor(row.node_features, dtype=torch.float32)
    if row.node_labels is not None:
        graph.labels = row.node_labels
    return graph


def _set_features(
    rows: list[Line], graphs: list[Data], path: Path, schema: Schema | None
) -> tuple[tuple[ClassName, ...], int | None]:
    """Give every graph its node features; returns the vocabulary, or where degrees begin to share a column."""
    labels = [label for row in rows for label in row.node_labels or []]
    features = [row.node_features for row in rows if row.node_features is not None]
    if not labels and not features:
        if schema is None:
            set_degree(graphs, DEGREE_CAP, path)
            return (), int(graphs[0].x.shape[1]) - 1
        for graph in graphs:
            graph.x = schema.features(graph, path)
        return (), schema.degree_cap
    together = Data()
    if features:
        together.x = torch.cat([torch.tensor(block, dtype=torch.float32) for block in features])
    if labels:
        together.labels = labels
    coder = schema or Schema("graph", "classify", "accuracy", node_labels=in_order(labels))
    blocks = torch.split(coder.features(together, path), [row.num_nodes for row in rows])
    for graph, block in zip(graphs, blocks, strict=True):
        graph.x = block
    return coder.node_labels, None
