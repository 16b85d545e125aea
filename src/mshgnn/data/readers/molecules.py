"""Reader of a CSV of molecules: a column of SMILES and a column of targets. Needs RDKit (``mshgnn[chem]``)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import one_hot
from torch_geometric.utils.smiles import e_map, from_rdmol, x_map

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.limits import FLOAT, check_limit
from mshgnn.data.readers.text import ClassName, class_name, classes, text_lines

CHARACTERS_PER_ATOM = 20
"""More than any SMILES needs: a text longer than that for the atoms allowed is not even parsed."""


def read_smiles_csv(
    path: Path, *, smiles: str = "smiles", target: str = "target", name: str | None = None
) -> GraphDataset:
    """Read molecules; atoms and bonds carry PyG's nine and three categories, each one-hot.

    Args:
        path: a CSV with a header line.
        smiles: the column of SMILES strings.
        target: the column of classes, whole numbers or words.
        name: of the data set; the file's name by default.
    """
    graphs: list[Data] = []
    targets: list[ClassName] = []
    atoms = 0
    for line_number, row in _rows(path, (smiles, target)):
        where = f"{path}: line {line_number}"
        try:
            targets.append(class_name(row[target]))
            graphs.append(molecule(row[smiles], where))
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        atoms += graphs[-1].x.shape[0]
        check_limit("memory", FLOAT * atoms * graphs[-1].x.shape[1], where)
    if not graphs:
        raise DataError(f"{path}: there are no molecules")
    class_names, numbers = classes(targets)
    for graph, number in zip(graphs, numbers, strict=True):
        graph.y = torch.tensor([number])
    return from_graphs(graphs, name=name or path.stem, class_names=class_names if len(class_names) > 1 else ())


def molecule(text: str, where: str = "SMILES") -> Data:
    """One SMILES string as a graph with one-hot features; RDKit decides what is valid.

    Atoms and rings are counted before RDKit looks for the rings, which takes minutes for a cage of thousands of atoms.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise DataError("SMILES need RDKit: pip install 'mshgnn[chem]'") from error
    check_limit("atoms", len(text) // CHARACTERS_PER_ATOM, where)
    with rdBase.BlockLogs():  # RDKit would print its own complaint
        sketch = Chem.MolFromSmiles(text.strip(), sanitize=False)
        if sketch is not None:
            check_limit("atoms", sketch.GetNumAtoms(), where)
            check_limit("rings", sketch.GetNumBonds() - sketch.GetNumAtoms() + 1, where)
        parsed = Chem.MolFromSmiles(text.strip()) if sketch is not None else None
    if parsed is None or parsed.GetNumAtoms() == 0:
        raise ValueError(f"not a molecule: {text.strip()[:60]!r}")
    try:
        graph = from_rdmol(parsed)
    except ValueError as error:
        raise ValueError(f"an atom or bond without a known category in {text.strip()[:60]!r}: {error}") from error
    graph.x = _one_hot_columns(graph.x, [len(values) for values in x_map.values()])
    graph.edge_attr = _one_hot_columns(graph.edge_attr, [len(values) for values in e_map.values()])
    return graph


def _one_hot_columns(codes: Tensor, widths: list[int]) -> Tensor:
    columns = zip(codes.unbind(dim=1), widths, strict=True)
    return torch.cat([one_hot(column, num_classes=width) for column, width in columns], dim=1)


def _rows(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells of every row below the header."""
    reader = csv.reader((line for _, line in text_lines(path)), strict=True)
    try:
        header = next(reader, [])
        missing = [column for column in wanted if column not in header]
        if missing:
            raise DataError(f"{path}: line 1: no column {missing[0]!r}; columns are {', '.join(header)[:200]}")
        doubled = [column for column in wanted if header.count(column) > 1]
        if doubled:
            raise DataError(f"{path}: line 1: column {doubled[0]!r} is there twice")
        for cells in reader:
            if len(cells) != len(header):
                raise DataError(f"{path}: line {reader.line_num}: {len(cells)} cells, the header has {len(header)}")
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}") from error
