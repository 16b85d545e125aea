"""Controls that learn nothing of what a graph network learns: every result is to be read beside them.

All follow scikit-learn's ``fit(graphs, y)`` and ``predict(graphs)``. The structure-agnostic perceptron is an
ordinary model, ``mlp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from numpy.typing import ArrayLike
from torch_geometric.data import Data

from mshgnn.models.controls.gntk import GNTK
from mshgnn.models.controls.knn import NearestNeighbours
from mshgnn.models.controls.labels import Labels
from mshgnn.models.controls.majority import Majority
from mshgnn.models.controls.wl_kernel import WLKernel
from mshgnn.models.controls.wl_lookup import WLLookup

__all__ = ["CONTROLS", "GNTK", "Control", "Majority", "NearestNeighbours", "WLKernel", "WLLookup"]


class Control(Protocol):
    """What every control can do."""

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Learn from graphs and their classes."""

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The class of every graph."""


CONTROLS: dict[str, type[Control]] = {
    "majority": Majority,
    "wl-lookup": WLLookup,
    "wl-kernel": WLKernel,
    "gntk": GNTK,
    "knn": NearestNeighbours,
}
