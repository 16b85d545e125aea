"""The most frequent class: what a model is worth that looks at nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from torch_geometric.data import Data

from mshgnn.models.controls.labels import Labels, checked_labels, majority


class Majority:
    """Always the most frequent class of the training graphs (the smallest one of a tie)."""

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Count the classes."""
        self.label_ = majority(checked_labels(graphs, y))
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """The same class for all."""
        return np.full(len(graphs), self.label_, dtype=np.int64)
