"""A user's own graphs from files, by one door."""

from __future__ import annotations

from pathlib import Path

from torch_geometric.utils import is_undirected

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.readers.jsonl import DEGREE_CAP, read_jsonl
from mshgnn.data.readers.molecules import read_smiles_csv
from mshgnn.data.readers.tu_text import read_tu_folder, separate
from mshgnn.data.transforms import set_degree

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


def load_own(path: str | Path, *, smiles: str = "smiles", target: str = "target") -> GraphDataset:
    """Read a folder in TU text form, a ``.jsonl`` of graphs or a ``.csv`` of SMILES.

    Every row is checked; the first bad one is refused with its file and line. ``smiles`` and ``target`` name the
    columns of a CSV.
    """
    path = Path(path)
    if path.is_dir():
        return read_tu_graphs(path)
    if path.suffix == ".jsonl":
        return read_jsonl(path)
    if path.suffix == ".csv":
        return read_smiles_csv(path, smiles=smiles, target=target)
    if not path.exists():
        raise DataError(f"{path}: file not found")
    raise DataError(f"{path}: expected a folder in TU text form, a .jsonl or a .csv of SMILES")


def read_tu_graphs(folder: Path) -> GraphDataset:
    """Read ``NAME_A.txt`` and its companions; attributes and one-hot labels are both used, degrees if neither."""
    names = sorted(path.name.removesuffix("_A.txt") for path in folder.glob("*_A.txt"))
    if len(names) != 1:
        found = f"found {', '.join(names)}" if names else "found none"
        raise DataError(f"{folder}: expected one NAME_A.txt, {found}")
    for path in sorted(folder.glob(f"{names[0]}_*.txt")):
        if path.stem.removeprefix(f"{names[0]}_") not in TABLES:
            raise DataError(f"{path}: unknown table; known are {', '.join(TABLES)}")
    tables = read_tu_folder(folder, names[0])
    graphs = separate(tables.tensors)
    for index, graph in enumerate(graphs):
        if not is_undirected(graph.edge_index, num_nodes=graph.num_nodes):
            where = f"{folder / names[0]}_A.txt: graph {index + 1}"
            raise DataError(f"{where}: an edge is listed in one direction only; the TU form lists both")
    if "x" not in graphs[0]:
        set_degree(graphs, DEGREE_CAP, folder)
    return from_graphs(graphs, name=names[0], class_names=tables.class_names if len(tables.class_names) > 1 else ())
