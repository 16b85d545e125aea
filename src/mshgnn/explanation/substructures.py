"""Groups of nodes that a reader has a name for: rings and functional groups of a molecule, pieces of other graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import torch
from torch import Tensor

TOP_LINKS = 0.2
"""The share of links, the most important ones, whose connected pieces are the substructures of a plain graph."""


@dataclass(frozen=True)
class Group:
    """Nodes that belong together."""

    name: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Substructure:
    """A group and the sum of its nodes' importance."""

    group: Group
    importance: float


def in_molecule(smiles: str) -> list[Group]:
    """Every atom in one group: ring systems, then functional groups, then what is left of the chains.

    A functional group is, after Ertl (2017), a connected set of atoms outside rings that are no carbon, or carbon with
    a multiple bond.
    """
    from rdkit import Chem

    molecule: Any = Chem.MolFromSmiles(smiles)
    bonds = nx.Graph()
    bonds.add_nodes_from(range(molecule.GetNumAtoms()))
    kind = {atom.GetIdx(): _kind(atom) for atom in molecule.GetAtoms()}
    for bond in molecule.GetBonds():
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if kind[one] == kind[other] and (kind[one] != "ring" or bond.IsInRing()):
            bonds.add_edge(one, other)
    groups = []
    for found in nx.connected_components(bonds):
        atoms = tuple(sorted(found))
        name = Chem.MolFragmentToSmiles(molecule, list(atoms))
        groups.append(
            Group(f"{name} ({'atom' if len(atoms) == 1 else 'atoms'} {_listed([str(atom) for atom in atoms])})", atoms)
        )
    return groups


def _kind(atom: Any) -> str:
    if atom.IsInRing():
        return "ring"
    multiple = any(bond.GetBondTypeAsDouble() > 1 for bond in atom.GetBonds())
    return "group" if atom.GetAtomicNum() != 6 or multiple else "chain"


def in_graph(links: Tensor, importance: Tensor, names: Sequence[str]) -> list[Group]:
    """The connected pieces of the most important links; ``links`` ``[2, L]``, ``importance`` ``[L]``."""
    if links.size(1) == 0:
        return []
    count = max(1, round(TOP_LINKS * links.size(1)))
    top = links[:, importance.argsort(descending=True, stable=True)[:count]]
    pieces = [tuple(sorted(piece)) for piece in nx.connected_components(nx.Graph(top.t().tolist()))]
    return [Group("nodes " + _listed([names[node] for node in piece]), piece) for piece in pieces]


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def ranked(groups: Sequence[Group], nodes: Tensor) -> list[Substructure]:
    """The groups with the sum of their nodes' importance, the greatest first."""
    found = [Substructure(group, float(nodes[torch.tensor(group.nodes)].sum())) for group in groups]
    return sorted(found, key=lambda substructure: -substructure.importance)
