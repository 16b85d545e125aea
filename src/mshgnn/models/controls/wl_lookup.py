"""A table from 1-WL colours to classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from torch_geometric.data import Data

from mshgnn.evaluation.wl import Initial, has_constant_features, wl_colourings
from mshgnn.models.controls.labels import Labels, checked_labels, majority


class WLLookup:
    """A table from 1-WL colours to classes: knows by heart what it has seen, and generalises nothing.

    Every colour has the majority class of its training graphs; an unknown colour gets the majority class of
    all. The first colour is the feature row, or the degree where the features are constant.
    """

    def __init__(self, rounds: int = 3) -> None:
        """Refine the colours so many rounds."""
        self.rounds = rounds

    def fit(self, graphs: Sequence[Data], y: ArrayLike) -> Self:
        """Fill the table."""
        labels = checked_labels(graphs, y)
        self.initial_: Initial = "degree" if has_constant_features(graphs) else "features"
        self.label_ = majority(labels)
        seen: dict[bytes, list[int]] = {}
        for colour, label in zip(self._colours(graphs), labels.tolist(), strict=True):
            seen.setdefault(colour, []).append(label)
        self.table_ = {colour: majority(np.array(found)) for colour, found in seen.items()}
        return self

    def predict(self, graphs: Sequence[Data]) -> Labels:
        """Look every graph up."""
        found = [self.table_.get(colour, self.label_) for colour in self._colours(graphs)]
        return np.array(found, dtype=np.int64)

    def _colours(self, graphs: Sequence[Data]) -> list[bytes]:
        if not graphs:
            return []
        return [row.tobytes() for row in wl_colourings(graphs, self.rounds, self.initial_)[-1].graphs]
