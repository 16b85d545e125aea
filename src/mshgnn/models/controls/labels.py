"""The classes that controls are fitted to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data

from mshgnn.errors import UserError

Labels = NDArray[np.int64]


def checked_labels(graphs: Sequence[Data], y: ArrayLike) -> Labels:
    """The classes as an array, one per graph and at least one."""
    labels = np.asarray(y, dtype=np.int64).reshape(-1)
    if len(labels) != len(graphs) or not len(labels):
        raise UserError(f"y must hold one class per graph, got {len(labels)} for {len(graphs)} graphs")
    return labels


def majority(labels: Labels) -> int:
    """The most frequent label, the smallest of a tie."""
    return int(np.bincount(labels).argmax())
