"""The 1-WL ceiling: what a model bounded by 1-WL can reach at best, with every label known.

Graphs (or nodes) of one 1-WL colour get the same prediction from any such model, so it can be right on the
majority label of each colour class at most. Two items of one class with different labels are in conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mshgnn.data.dataset import GraphDataset
from mshgnn.errors import UserError
from mshgnn.evaluation.wl import Initial, class_ids, has_constant_features, wl_colourings

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class CeilingRound:
    """One round: number of colour classes, items in classes of mixed labels, and the best possible accuracy."""

    round: int
    node_colours: int
    classes: int
    conflicts: int
    ceiling: float


@dataclass(frozen=True)
class Ceiling:
    """The ceiling of a data set by round. ``initial`` is what the nodes are coloured by at the start."""

    dataset: str
    items: int
    initial: Initial
    rounds: tuple[CeilingRound, ...]

    @property
    def ceiling(self) -> float:
        """The best possible accuracy after the last round."""
        return self.rounds[-1].ceiling


@dataclass(frozen=True)
class LookupScore:
    """The table's accuracy, averaged over folds: on everything, and on the graphs it was not fitted on."""

    whole_set: float
    held_out: float
    folds: int


def wl_ceiling(dataset: GraphDataset, rounds: int = 3) -> Ceiling:
    """The ceiling after ``0 .. rounds`` rounds.

    Nodes are coloured by their features, or by their degree where the features are all the same.
    """
    initial = default_initial(dataset)
    labels = dataset.labels().numpy()
    results = []
    for round_, colouring in enumerate(wl_colourings(dataset.graphs, rounds, initial)):
        node_ids = class_ids(colouring.nodes)
        ids = class_ids(colouring.graphs) if dataset.task == "graph" else node_ids
        counts = label_counts(ids, labels)
        mixed = (counts > 0).sum(axis=1) > 1
        results.append(
            CeilingRound(
                round=round_,
                node_colours=int(node_ids.max()) + 1,
                classes=len(counts),
                conflicts=int(counts[mixed].sum()),
                ceiling=float(counts.max(axis=1).sum() / len(labels)),
            )
        )
    return Ceiling(dataset.name, len(labels), initial, tuple(results))


def wl_lookup_score(dataset: GraphDataset, held_out: Iterable[ArrayLike], rounds: int = 3) -> LookupScore:
    """Fit the 1-WL lookup table on all but each fold's held-out items, and score it.

    Equals fitting ``WLLookup`` fold by fold, but colours the graphs once. Unknown colours get the majority
    label of the fitted items.
    """
    colouring = wl_colourings(dataset.graphs, rounds, default_initial(dataset))[-1]
    ids = class_ids(colouring.graphs if dataset.task == "graph" else colouring.nodes)
    labels = dataset.labels().numpy()
    whole, held = [], []
    for indices in held_out:
        test = np.zeros(len(labels), dtype=bool)
        test[np.asarray(indices)] = True
        counts = label_counts(ids, labels, fitted=~test)
        table = np.where(counts.any(axis=1), counts.argmax(axis=1), counts.sum(axis=0).argmax())
        right = table[ids] == labels
        whole.append(right.mean())
        held.append(right[test].mean())
    if not whole:
        raise UserError("the lookup table needs at least one fold")
    return LookupScore(float(np.mean(whole)), float(np.mean(held)), len(whole))


def default_initial(dataset: GraphDataset) -> Initial:
    """Features where they tell nodes apart, degrees where they are all the same."""
    return "degree" if has_constant_features(dataset.graphs) else "features"


def label_counts(ids: Ids, labels: Ids, fitted: NDArray[np.bool_] | None = None) -> Ids:
    """How often each label occurs in each colour class, among the fitted items: ``[classes, labels]``."""
    shape = (int(ids.max()) + 1, int(labels.max()) + 1)
    chosen = slice(None) if fitted is None else fitted
    cells = ids[chosen] * shape[1] + labels[chosen]
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
