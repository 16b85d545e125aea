"""Reader of ``.npz``: one graph whose nodes have targets.

Arrays ``node_features`` ``[n, d]``, ``edges`` ``[m, 2]`` (undirected unless asked otherwise, nodes count from 0),
``node_labels`` ``[n]`` or ``[n, T]`` (of whole numbers -1 is missing, of others NaN) and, if wanted, ``train_masks``,
``val_masks``, ``test_masks`` ``[folds, n]``; or the sparse layout of the Amazon and Coauthor graphs. Pickled content is
refused.
"""

from __future__ import annotations

from pathlib import Path

from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.readers.asked import Asked, Cell
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.read import Read, as_read
from mshgnn.data.readers.target_columns import named_columns, read_targets
from mshgnn.data.sources.npz import read_own_npz


def read_npz_graph(path: Path, asked: Asked) -> Read:
    """Read a node task; features stay as they are."""
    asked.refuse(path, "weight", "id", "split", "ignore")
    graph, columns = read_bare_npz(path, asked)
    if not columns:
        raise DataError(f"{path}: array 'node_labels' is missing")
    names = asked.names_among(tuple(columns), tuple(columns), str(path))
    bad = BadRows(asked.on_error)
    targets = read_targets(
        {name: columns[name] for name in names}, lambda node, name: f"{path}: node {node}: {name}", asked, bad
    )
    graph.y = targets.values
    return as_read([graph], path.stem, "node", targets, asked, skipped=bad)


def read_bare_npz(path: Path, asked: Asked) -> tuple[Data, dict[str, list[Cell]]]:
    """The graph for a trained model, and what the file says of the nodes' targets, by name, if anything."""
    graph = read_own_npz(path, directed=asked.directed)
    if graph.get("y") is None:
        return graph, {}
    columns = named_columns(graph.y, "target")
    del graph["y"]
    return graph, columns
