"""Shared by the data tests: small graphs, TU folders and zips."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch_geometric.data import Data

_prepared = tempfile.TemporaryDirectory(prefix="mshgnn-test-data-")
shared_root = Path(_prepared.name)  # one folder of prepared data for all data tests; removed at exit

# Two triangles and a path, with node labels 3, 5, 9 and targets -1, 7, 7. The last file line has no newline.
SMALL: dict[str, str] = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4,5\n5,4\n5,6\n6,5\n4,6\n6,4\n7, 8\n8, 7\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n3\n3\n3\n",
    "graph_labels": "7\n-1\n7\n",
    "node_labels": "3\n5\n9\n3\n3\n3\n9\n9\n5",
}


def graph(**changes: object) -> Data:
    """Three nodes, one link; a part that is None is left out."""
    parts: dict[str, object] = {
        "x": torch.ones(3, 2),
        "edge_index": torch.tensor([[0, 1], [1, 0]]),
        "y": torch.tensor([1]),
    }
    return Data(**{key: value for key, value in (parts | changes).items() if value is not None})


def write_tu(folder: Path, tables: Mapping[str, str | bytes], name: str = "SMALL") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for table, content in tables.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}_{table}.txt").write_bytes(raw)
    return folder


def write_tu_zip(path: Path, tables: Mapping[str, str | bytes], name: str = "SMALL") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for table, content in tables.items():
            archive.writestr(f"{name}/{name}_{table}.txt", content)
    return path
