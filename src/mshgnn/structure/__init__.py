"""Structure that a model needs beyond features and edges: one file per kind, computed once for each data set.

A kind is a :class:`Structure`: a name and a function of one bare graph. A model lists its kinds (see
:class:`mshgnn.nn.StructuredModel`); training computes them once for each data set, keeps them on disk
(:mod:`mshgnn.data.structure`) and hands every batch its part.
"""

from mshgnn.structure.batch import structure_of_batch
from mshgnn.structure.kind import Cost, Structure, structure_of_graphs
from mshgnn.structure.ragged import PackedStructure, Ragged, owners

__all__ = ["Cost", "PackedStructure", "Ragged", "Structure", "owners", "structure_of_batch", "structure_of_graphs"]
