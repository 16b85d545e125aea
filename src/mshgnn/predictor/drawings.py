"""Graphs of a user's data drawn small: molecules as RDKit lays them out, others by their distances."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.schema import Schema
from mshgnn.report.page.drawing import MOST_NODES, Drawing, laid_out, pack

MOST_PARTS = 700_000
"""Nodes and edges of all drawings together: about two megabytes of text."""
MOST_NEIGHBOURS = 24


class Drawer:
    """Draws the items of a data set until its budget is used up; a node is drawn with its neighbours."""

    def __init__(self, dataset: GraphDataset, schema: Schema) -> None:
        self.dataset, self.schema = dataset, schema
        self.left = MOST_PARTS
        self.molecules = dataset.task == "graph" and dataset.graphs[0].get("smiles") is not None
        self.vocabulary = self._vocabulary()
        if dataset.task == "node":
            sender, receiver = dataset.graphs[0].edge_index.numpy()
            self.senders = sender[np.argsort(receiver, kind="stable")]
            counts = np.bincount(receiver, minlength=int(dataset.graphs[0].num_nodes))
            self.starts = np.concatenate([[0], counts.cumsum()])
        self.number = {word: place for place, word in enumerate(self.vocabulary)}

    def draw(self, item: int) -> str | None:
        """The drawing of an item as text; None where it is too large, or the budget is used up."""
        made = self._neighbours(item) if self.dataset.task == "node" else self._graph(self.dataset.graphs[item])
        if made is None or self.left < len(made.places) + len(made.edges):
            return None
        self.left -= len(made.places) + len(made.edges)
        return pack(made)

    def _vocabulary(self) -> tuple[str, ...]:
        """Labels of nodes, the most common first: that one is drawn plainly."""
        if self.molecules:
            return ("C", "N", "O", "S", "F", "Cl", "Br", "P", "I", "B", "Si", "H", "?")
        if not self.schema.node_labels:
            return ()
        counts: Counter[int] = Counter()
        for graph in self.dataset.graphs[:500]:
            counts.update(self._codes(graph))
        names = [str(label) for label in self.schema.node_labels]
        order = [column for column, _ in counts.most_common()]
        order += [column for column in range(len(names)) if column not in counts]
        return tuple(names[column] for column in order if column < len(names))

    def _codes(self, graph: Data) -> list[int]:
        """The place of every node's label in the schema; numbers come before the labels."""
        return graph.x[:, -self.schema.label_columns :].argmax(dim=1).tolist()

    def _graph(self, graph: Data) -> Drawing | None:
        nodes = int(graph.num_nodes)
        if not 0 < nodes <= MOST_NODES:
            return None
        if self.molecules and (drawn := self._molecule(graph.smiles)) is not None and len(drawn.places) == nodes:
            return drawn
        edges = _once(graph.edge_index)
        labels: list[int] = []
        if self.schema.node_labels:
            names = [str(label) for label in self.schema.node_labels]
            labels = [self.number.get(names[column], 0) for column in self._codes(graph)]
        return Drawing(laid_out(nodes, edges), edges, labels)

    def _molecule(self, smiles: str) -> Drawing | None:
        from rdkit import Chem
        from rdkit.Chem.rdDepictor import Compute2DCoords

        molecule: Any = Chem.MolFromSmiles(smiles)
        if molecule is None:
            return None
        Compute2DCoords(molecule)
        places = np.array(molecule.GetConformer().GetPositions(), dtype=np.float64)[:, :2] * (1, -1)
        edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
        other = self.number["?"]
        return Drawing(places, edges, [self.number.get(atom.GetSymbol(), other) for atom in molecule.GetAtoms()])

    def _neighbours(self, node: int) -> Drawing | None:
        """A node, marked, with the first of its neighbours and the edges among them."""
        around = [node, *[other for other in self._senders(node) if other != node][:MOST_NEIGHBOURS]]
        place = {other: number for number, other in enumerate(around)}
        pairs = ((place[other], place[sender]) for other in around for sender in place.keys() & {*self._senders(other)})
        kept = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
        return Drawing(laid_out(len(around), kept), kept, (), 0)

    def _senders(self, node: int) -> list[int]:
        """Who has an edge to a node."""
        first, last = self.starts[node], self.starts[node + 1]
        return self.senders[first:last].tolist()


def _once(edge_index: Tensor) -> list[tuple[int, int]]:
    """Every edge once, without loops."""
    return sorted({(min(a, b), max(a, b)) for a, b in edge_index.t().tolist() if a != b})
