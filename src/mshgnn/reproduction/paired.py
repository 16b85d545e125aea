"""Networks against `stable`, fold by fold: differences have less noise than the figures they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.evaluation.significance import corrected_difference
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import GRAPH_SETS, MODELS
from mshgnn.reproduction.results import Results


def graph_differences(results: Results) -> str:
    """`stable` minus each other network, fold by fold: the mean in points and its corrected standard error."""
    rows = []
    for model in ("gcn", "gat", "gin", "film"):
        pairs = [(results.records.get((name, "msh-stable")), results.records.get((name, model))) for name in GRAPH_SETS]
        rows.append([f"`stable` - {MODELS[model]}", *(_paired_difference(*pair) for pair in pairs)])
    return markdown(["points", *GRAPH_SETS.values()], rows)


def _paired_difference(ours: Record | None, other: Record | None) -> str:
    """Mean and corrected standard error over folds; a dash unless both models were given the same ones, two or more."""
    if ours is None or other is None or not _comparable(ours, other):
        return "–"
    first, second = 100 * _accuracies_by_fold(ours), 100 * _accuracies_by_fold(other)
    return _mean_difference(first, second, _test_per_train(ours), digits=1)


def _mean_difference(
    first: NDArray[np.float64], second: NDArray[np.float64], test_per_train: float, digits: int
) -> str:
    """The mean of ``first - second`` with its sign, and its corrected standard error; significant ones in bold."""
    found = corrected_difference(first, second, test_per_train)
    text = (
        f"{round(found.mean, digits) + 0.0:+.{digits}f} ± {found.error:.{digits}f}"  # adding zero turns -0.0 into +0.0
    )
    return f"**{text}**" if found.significant else text


def _test_per_train(record: Record) -> float:
    """Test items by training items, the mean over folds."""
    sizes = [result.curves.sizes for result in record.run.results]
    return float(np.mean([test / train for train, _, test in sizes]))


def _accuracies_by_fold(record: Record) -> NDArray[np.float64]:
    return np.array(record.rules[HEADLINE].per_fold)


def graph_losses(results: Results) -> str:
    """Test loss at the epoch of each fold's lowest validation loss; in brackets how much more than `stable`'s."""
    rows = []
    for model in ("msh-stable", "gcn", "gat", "gin", "film", "mlp"):
        pairs = [(results.records.get((name, "msh-stable")), results.records.get((name, model))) for name in GRAPH_SETS]
        rows.append([MODELS[model], *(_test_loss(*pair) for pair in pairs)])
    return markdown(["test loss", *GRAPH_SETS.values()], rows)


def _test_loss(ours: Record | None, other: Record | None) -> str:
    """The other's mean, and the paired difference with its corrected error unless the other is ours."""
    if other is None:
        return "–"
    theirs = _losses_by_fold(other)
    if ours is None or ours is other or not _comparable(ours, other):
        return f"{theirs.mean():.3f}"
    difference = _mean_difference(theirs, _losses_by_fold(ours), _test_per_train(ours), digits=3)
    return f"{theirs.mean():.3f} ({difference})"


def _losses_by_fold(record: Record) -> NDArray[np.float64]:
    """The test loss of every fold at the epoch whose validation loss is lowest: nothing is chosen on test."""
    folds = [result.curves for result in record.run.results]
    return np.array([fold.test_loss[np.nanargmin(fold.validation_loss)] for fold in folds])


def _comparable(ours: Record, other: Record) -> bool:
    """Whether both were given the same folds, and enough of them for a test."""
    return _folds_given(ours) == _folds_given(other) and len(ours.rules[HEADLINE].per_fold) > 1


def _folds_given(record: Record) -> tuple[str, list[FoldKey]]:
    """Which splits a run had, and which seeds and folds of them."""
    return record.info.splits_checksum, [result.key for result in record.run.results]
