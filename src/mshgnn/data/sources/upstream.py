"""Upstream files from the mirror or the network, checked, read once, and kept as plain tensors."""

from __future__ import annotations

import http.client
import urllib.error
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data, download_url
from torch_geometric.datasets import Amazon, Coauthor, HeterophilousGraphDataset, TUDataset

from mshgnn.data.catalogue import Entry
from mshgnn.data.dataset import DataError
from mshgnn.data.limits import check_file
from mshgnn.data.readers.tu_text import read_tu_folder, separate
from mshgnn.data.sources.archives import unpack_tu_zip
from mshgnn.data.sources.npz import read_heterophilous, read_sparse
from mshgnn.data.sources.store import Kept, keep, mirror, prepared_folder

SPARSE_WIDTH, SPARSE_DENSITY = 128, 0.05
"""From this width on, and below this share of non-zero entries, features are kept sparse."""

_URLS: dict[str, str] = {
    "tu": TUDataset.url,
    "amazon": Amazon.url,
    "coauthor": Coauthor.url,
    "heterophilous": HeterophilousGraphDataset.url,
}


class Upstream(NamedTuple):
    """Graphs as the files have them: without features where there are none."""

    graphs: list[Data]
    num_classes: int
    class_names: tuple[str, ...]
    num_attributes: int
    """Continuous node attributes in the files, whether or not they are among the features."""
    self_loops: int
    """Self-loops in the files; the graphs have none."""


def open_upstream(entry: Entry, root: Path, *, attributes: bool = False) -> Upstream:
    """The graphs of an entry, prepared in ``root`` on the first call.

    ``attributes`` adds continuous node and edge attributes to the one-hot labels of a TU set.
    """
    mirror()  # a wrong MSHGNN_MIRROR is the user's to put right, even where a prepared copy would do
    kept = keep(prepared_folder(root, entry.name), lambda work: _read(entry, work))
    tensors, sizes = _dense(kept.tensors), kept.facts["sizes"]
    assert isinstance(sizes, dict)
    if not attributes:
        for key, count in (("x", "num_node_attributes"), ("edge_attr", "num_edge_attributes")):
            if key in tensors:
                tensors[key] = tensors[key][:, sizes[count] :]
    names = kept.facts["class_names"]
    assert isinstance(names, list)
    return Upstream(
        separate(tensors),
        int(tensors["y"].max()) + 1,
        tuple(names),
        sizes["num_node_attributes"],
        sizes["num_self_loops"],
    )


def _read(entry: Entry, work: Path) -> Kept:
    """:func:`_prepared`; an error names the file as the user knows it, not the folder it was unpacked in."""
    try:
        return _prepared(entry, work)
    except DataError as error:
        source = _source(entry)
        message = str(error).replace(str(work / entry.file), source).replace(f"{work}/", f"{source}: ")
        raise DataError(message) from error


def _prepared(entry: Entry, work: Path) -> Kept:
    """Read the file of an entry; ``work`` is a folder to unpack it in."""
    work.mkdir()
    path = _file(entry, work)
    if entry.family == "tu":
        unpack_tu_zip(path, work, entry.member)
        tensors, sizes, class_names, *_ = read_tu_folder(work, entry.member)
    else:
        graph = (read_heterophilous if entry.family == "heterophilous" else read_sparse)(path)
        tensors = {key: graph[key] for key in graph.keys()}  # noqa: SIM118 (a Data object is no mapping)
        tensors |= {"nodes": torch.tensor([graph.num_nodes]), "edges": torch.tensor([graph.num_edges])}
        sizes = {"num_node_attributes": 0, "num_edge_attributes": 0, "num_self_loops": 0}
        class_names = ()
    _check_expected(entry, tensors)
    return Kept(_sparse(tensors), {"sizes": sizes, "class_names": list(class_names)})


def _check_expected(entry: Entry, tensors: dict[str, Tensor]) -> None:
    """Refuse sizes that are not those of the known file."""
    if entry.expected is None:
        return
    graphs, nodes = len(tensors["nodes"]), int(tensors["nodes"].sum())
    found = (graphs, round(nodes / graphs, 2)) if entry.task == "graph" else (nodes, nodes)
    known = (entry.expected.items, entry.expected.nodes)
    if found != known:
        raise DataError(f"{entry.name}: {_source(entry)} is altered: graphs and nodes are {found}, not {known}")


def _source(entry: Entry) -> str:
    """Where the file of an entry is looked for."""
    given = mirror()
    return str(given / entry.file) if given else f"{_URLS[entry.family].rstrip('/')}/{entry.file}"


def _file(entry: Entry, folder: Path) -> Path:
    """The file in the mirror, or downloaded into ``folder`` by PyG; anything that prevents it becomes one line."""
    given = mirror()
    if given is not None:
        path = given / entry.file
        if not path.exists():
            raise DataError(
                f"{entry.name}: {path} not found; put {entry.file} into the folder MSHGNN_MIRROR names, "
                "or unset it to download"
            )
        check_file(path)
        return path
    try:
        return Path(download_url(_source(entry), str(folder)))
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"{entry.name}: could not get {_source(entry)} ({reason}); "
            f"download {entry.file} elsewhere and set MSHGNN_MIRROR to its folder"
        ) from error


def _sparse(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Wide features that are mostly zero as three tensors: a fiftieth of the file for bags of words."""
    x = tensors.get("x")
    if x is None or x.shape[1] < SPARSE_WIDTH or int(x.count_nonzero()) >= SPARSE_DENSITY * x.numel():
        return tensors
    row, column = x.nonzero(as_tuple=True)
    rest = {key: value for key, value in tensors.items() if key != "x"}
    return rest | {"x_row": row, "x_column": column, "x_value": x[row, column], "x_shape": torch.tensor(x.shape)}


def _dense(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    if "x_shape" not in tensors:
        return tensors
    x = torch.zeros(tensors["x_shape"].tolist(), dtype=tensors["x_value"].dtype)
    x[tensors["x_row"], tensors["x_column"]] = tensors["x_value"]
    return {key: value for key, value in tensors.items() if not key.startswith("x_")} | {"x": x}
