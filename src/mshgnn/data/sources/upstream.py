"""PyG's data set classes, fed from the mirror or the network, with every file checked before it is read."""

from __future__ import annotations

import http.client
import pickle
import urllib.error
from collections.abc import Callable
from pathlib import Path

from torch_geometric.data import InMemoryDataset, download_url
from torch_geometric.datasets import Amazon, Coauthor, HeterophilousGraphDataset, TUDataset
from torch_geometric.io import fs

from mshgnn.data.catalogue import Entry
from mshgnn.data.dataset import DataError
from mshgnn.data.readers.tu_text import read_tu_folder
from mshgnn.data.sources.archives import check_npz, unpack_tu_zip
from mshgnn.data.sources.store import discard, mirror, prepare

_SPARSE_ARRAYS = [f"{part}_{key}" for part in ("adj", "attr") for key in ("data", "indices", "indptr", "shape")]
_ARRAYS = {
    "amazon": [*_SPARSE_ARRAYS, "labels"],
    "coauthor": [*_SPARSE_ARRAYS, "labels"],
    "heterophilous": ["node_features", "node_labels", "edges", "train_masks", "val_masks", "test_masks"],
}


def open_upstream(entry: Entry, root: Path, *, attributes: bool = False) -> InMemoryDataset:
    """The PyG data set of an entry, prepared in ``root`` on the first call.

    ``attributes`` adds continuous node and edge attributes to the one-hot labels of a TU set.
    """
    folder = root / entry.name
    mirror()  # a wrong MSHGNN_MIRROR is the user's to put right, not a damaged copy

    def build(temporary: Path) -> None:
        dataset = _open(entry, temporary, attributes=False)
        problem = _unexpected(entry, dataset)
        if problem:
            raise DataError(f"{entry.name}: {_source(entry)} is altered: {problem}")

    prepare(folder, build)
    try:
        return _open(entry, folder, attributes=attributes)
    except (RuntimeError, EOFError, KeyError, pickle.UnpicklingError, ValueError):
        discard(folder)  # a prepared copy that cannot be read any more: make it again
    prepare(folder, build)
    return _open(entry, folder, attributes=attributes)


def _unexpected(entry: Entry, dataset: InMemoryDataset) -> str | None:
    """Sizes that are not those of the known file; None when they fit or nothing is known."""
    if entry.expected is None:
        return None
    num_graphs = len(dataset)
    nodes = sum(int(graph.num_nodes) for graph in dataset)
    found = (num_graphs, round(nodes / num_graphs, 2)) if entry.task == "graph" else (nodes, nodes)
    known = (entry.expected.items, entry.expected.nodes)
    return None if found == known else f"graphs and nodes are {found}, not {known}"


def _source(entry: Entry) -> str:
    """Where the file of an entry is looked for."""
    given = mirror()
    return str(given / entry.file) if given else f"{_URLS[entry.family].rstrip('/')}/{entry.file}"


def _download(entry: Entry, url: str, folder: str) -> Path:
    """Get the file into ``folder`` by PyG's own download; anything that prevents it becomes one line."""
    given = mirror()
    if given is not None and not (given / entry.file).is_file():
        raise DataError(
            f"{entry.name}: {given / entry.file} not found; put {entry.file} into the folder MSHGNN_MIRROR names, "
            "or unset it to download"
        )
    try:
        return Path(download_url(f"{url.rstrip('/')}/{entry.file}", folder, log=given is None))
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"{entry.name}: could not get {_source(entry)} ({reason}); "
            f"download {entry.file} elsewhere and set MSHGNN_MIRROR to its folder"
        ) from error


class _TU(TUDataset):
    def __init__(self, entry: Entry, root: Path, url: str, attributes: bool) -> None:
        self.entry, self.url = entry, url
        super().__init__(str(root), entry.member, use_node_attr=attributes, use_edge_attr=attributes)

    def download(self) -> None:
        path = _download(self.entry, self.url, self.raw_dir)
        unpack_tu_zip(path, Path(self.raw_dir), self.name)
        path.unlink()

    def process(self) -> None:
        data, slices, sizes = read_tu_folder(Path(self.raw_dir), self.name)
        fs.torch_save((data.to_dict(), slices, sizes, type(data)), self.processed_paths[0])


class _Npz:
    """The same download for the three classes whose file is an npz; they take it from there."""

    def __init__(self, entry: Entry, root: Path, url: str) -> None:
        self.entry, self.url = entry, url
        super().__init__(str(root), entry.member)  # type: ignore[call-arg]

    def download(self) -> None:
        path = _download(self.entry, self.url, self.raw_dir)  # type: ignore[attr-defined]
        check_npz(path, _ARRAYS[self.entry.family])


class _Amazon(_Npz, Amazon):
    pass


class _Coauthor(_Npz, Coauthor):
    pass


class _Heterophilous(_Npz, HeterophilousGraphDataset):
    pass


_CLASSES = {"tu": _TU, "amazon": _Amazon, "coauthor": _Coauthor, "heterophilous": _Heterophilous}

_URLS: dict[str, str] = {
    "tu": TUDataset.url,
    "amazon": Amazon.url,
    "coauthor": Coauthor.url,
    "heterophilous": HeterophilousGraphDataset.url,
}


def _open(entry: Entry, root: Path, *, attributes: bool) -> InMemoryDataset:
    given = mirror()
    make: Callable[..., InMemoryDataset] = _CLASSES[entry.family]
    url = given.as_uri() if given else _URLS[entry.family]
    return make(entry, root, url, attributes) if entry.family == "tu" else make(entry, root, url)
