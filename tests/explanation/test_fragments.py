"""Groups of atoms and of nodes."""

from __future__ import annotations

import pytest
import torch

from mshgnn.explanation.substructures import in_graph, in_molecule, ranked

Chem = pytest.importorskip("rdkit.Chem")


def test_a_molecule_falls_into_rings_groups_and_chains() -> None:
    groups = {group.name.partition(" (")[0]: group.nodes for group in in_molecule("CCc1ccc2ccccc2c1[N+](=O)[O-]")}
    assert sorted(groups) == ["CC", "O=[N+][O-]", "c1ccc2ccccc2c1"]
    assert groups["CC"] == (0, 1)
    assert len(groups["c1ccc2ccccc2c1"]) == 10


@pytest.mark.parametrize("smiles", ["C", "c1ccccc1-c1ccccc1", "CC(=O)OC1CC1", "[Na+].[Cl-]", "C1CC12CC2", "N#CC=CC"])
def test_every_atom_is_in_exactly_one_group(smiles: str) -> None:
    atoms = sorted(atom for group in in_molecule(smiles) for atom in group.nodes)
    assert atoms == list(range(Chem.MolFromSmiles(smiles).GetNumAtoms()))


def test_rings_joined_by_a_bond_are_two() -> None:
    assert len(in_molecule("c1ccccc1-c1ccccc1")) == 2


def test_the_pieces_of_a_graph_are_those_of_its_top_links() -> None:
    links = torch.tensor([[0, 1, 4, 5, 6, 7, 8, 9, 10, 11], [1, 2, 5, 6, 7, 8, 9, 10, 11, 12]])
    importance = torch.tensor([9.0, 1, 1, 1, 1, 1, 1, 1, 1, 8])
    groups = in_graph(links, importance, [str(node) for node in range(13)])
    assert [group.nodes for group in groups] == [(0, 1), (11, 12)]
    assert groups[0].name == "nodes 0, 1"
    found = ranked(groups, torch.arange(13.0))
    assert [(part.group.nodes, part.importance) for part in found] == [((11, 12), 23.0), ((0, 1), 1.0)]
    assert in_graph(torch.empty(2, 0, dtype=torch.long), torch.empty(0), []) == []
