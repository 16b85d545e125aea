"""Reader of ``.npz``: one graph whose nodes have targets.

Arrays ``node_features`` ``[n, d]``, ``edges`` ``[m, 2]`` (undirected, nodes count from 0), ``node_labels`` ``[n]`` (-1:
missing) and, if wanted, ``train_masks``, ``val_masks``, ``test_masks`` ``[folds, n]``; or the sparse layout of the
Amazon and Coauthor graphs. Pickled content is refused.
"""

from __future__ import annotations

from pathlib import Path

from torch_geometric.data import Data

from mshgnn.data.dataset import DataError
from mshgnn.data.readers.asked import Asked, Cell, Read, as_read, read_targets
from mshgnn.data.sources.npz import read_own_npz


def read_npz_graph(path: Path, asked: Asked) -> Read:
    """Read a node task; features stay as they are."""
    graph, cells = read_bare_npz(path)
    if not cells:
        raise DataError(f"{path}: array 'node_labels' is missing")
    targets = read_targets({"target": cells}, lambda node, _: f"{path}: node {node}", "node", asked)
    graph.y = targets.values
    return as_read([graph], path.stem, "node", targets, asked)


def read_bare_npz(path: Path) -> tuple[Data, list[Cell]]:
    """The graph for a trained model, and what the file says of the nodes' targets, if anything."""
    graph = read_own_npz(path)
    if graph.get("y") is None:
        return graph, []
    whole = not graph.y.is_floating_point()
    cells: list[Cell] = [None if whole and value == -1 else value for value in graph.y.tolist()]
    del graph["y"]
    return graph, cells
