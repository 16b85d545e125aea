"""Reader of tables of molecules: a column of SMILES and columns of targets. Needs RDKit (``mshgnn[chem]``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils.smiles import e_map, from_rdmol, x_map

from mshgnn.data.dataset import WEIGHT, DataError
from mshgnn.data.limits import FLOAT, allowed, check_limit
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.read import Read, as_read
from mshgnn.data.readers.table import read_table, stem
from mshgnn.data.readers.target_columns import read_targets

ATOM_WIDTHS = [len(values) for values in x_map.values()]
BOND_WIDTHS = [len(values) for values in e_map.values()]
CHARACTERS_PER_ATOM = 20
"""More than any SMILES needs: a text longer than that for the atoms allowed is not even parsed."""


def read_molecules(path: Path, asked: Asked) -> Read:
    """Read molecules; atoms and bonds carry PyG's nine and three categories, each one-hot."""
    table = read_table(path, keep_broken=asked.on_error == "skip")
    asked.refuse(path, "directed")
    asked.check_ignored(path, table.columns)
    smiles = asked.known_columns.get("smiles", asked.smiles)
    texts = table.cells(smiles)
    if not texts:
        raise DataError(f"{path}: there are no molecules")
    split_column = asked.split or "split"
    if asked.id is not None:
        table.cells(asked.id)  # refuses a column that is not there
    names = asked.targets_of(table, [smiles, split_column, asked.weight or "", asked.id or ""], ["target"])
    bad = BadRows(asked.on_error)
    bad.update(table.broken)
    splits, weights = asked.split_of(table, bad), asked.weights_of(table, bad)
    targets = read_targets({name: table.cells(name) for name in names}, table.where, asked, bad)
    graphs: list[Data] = []
    atoms = 0
    for row, text in enumerate(texts):
        if row in bad:
            continue
        where = table.where(row, smiles)
        try:
            graph = molecule(text, where)
        except ValueError as error:
            bad.add(row, str(error) if isinstance(error, DataError) else f"{where}: {error}")
            continue
        atoms += graph.x.shape[0]
        check_limit("memory", FLOAT * atoms * graph.x.shape[1], where)
        graph.y = targets.values[row : row + 1]
        if splits is not None:
            graph.split = splits[row]
        if weights is not None:
            graph[WEIGHT] = weights[row : row + 1]
        graphs.append(graph)
    return as_read(graphs, stem(path), "graph", targets, asked, columns={"smiles": smiles}, skipped=bad)


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
        if len(text) > min(allowed("atoms"), allowed("rings")):  # an atom takes a character, a ring two
            sketch = Chem.MolFromSmiles(text.strip(), sanitize=False)
            if sketch is not None:
                check_limit("atoms", sketch.GetNumAtoms(), where)
                check_limit("rings", sketch.GetNumBonds() - sketch.GetNumAtoms() + 1, where)
        parsed = Chem.MolFromSmiles(text.strip())
    if parsed is None or parsed.GetNumAtoms() == 0:
        raise ValueError(f"not a molecule: {text.strip()[:60]!r}")
    try:
        graph = from_rdmol(parsed)
    except ValueError as error:
        raise ValueError(f"an atom or bond without a known category in {text.strip()[:60]!r}: {error}") from error
    graph.x = _one_hot_columns(graph.x, ATOM_WIDTHS)
    graph.edge_attr = _one_hot_columns(graph.edge_attr, BOND_WIDTHS)
    graph.smiles = text.strip()
    return graph


def _one_hot_columns(codes: Tensor, widths: Sequence[int]) -> Tensor:
    """Each column of codes one-hot, side by side, in one pass."""
    starts = torch.tensor([0, *widths[:-1]]).cumsum(0)
    return torch.zeros(len(codes), sum(widths)).scatter_(1, codes + starts, 1.0)
