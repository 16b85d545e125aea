"""Models against `stable`, fold by fold: differences have less noise than the figures they come from."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.evaluation.significance import PairedDifference, corrected_difference
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import FLOORS, GRAPH_SETS, MODELS, OURS
from mshgnn.reproduction.results import Results, by_seed_and_fold, count_folds, form_of

MESSAGES = ("gcn", "gat", "gin", "film")
"""In the shell of `stable`, so that the message alone differs."""


def graph_differences(results: Results, models: Collection[str] = MODELS) -> str:
    """`stable` minus each other model, fold by fold: the mean in points and its corrected standard error."""
    rows = []
    for model in models:
        pairs = [(results.records.get((name, OURS)), results.records.get((name, model))) for name in GRAPH_SETS]
        if model not in FLOORS | {OURS} and any(other for _, other in pairs):
            rows.append([f"`stable` - {MODELS[model]}", *(_points(*pair) for pair in pairs)])
    return markdown(["points", *GRAPH_SETS.values()], rows)


def _points(ours: Record | None, other: Record | None) -> str:
    """A dash where nothing can be compared."""
    if ours is None or other is None or (found := paired_difference(ours, other)) is None:
        return "–"
    return difference_text(found, digits=1, factor=100) + (form_of(ours) or form_of(other))


def paired_difference(ours: Record, other: Record) -> PairedDifference | None:
    """How much better ``ours`` is, in the direction of the metric; ``None`` unless both were given the same parts.

    Parts are folds, a fold's figure being the mean of its seeds. Where there is one fold alone they are seeds, whose
    error is that of training: they share training and test items.
    """
    if not _comparable(ours, other):
        return None
    found = [np.array(record.rules[HEADLINE].per_fold) for record in (ours, other)]
    sign = 1 if ours.run.results[0].curves.higher_is_better else -1
    return _compare(ours, sign * found[0], other, sign * found[1])


def difference_text(found: PairedDifference, digits: int, factor: float = 1) -> str:
    """The mean with its sign and its standard error; significant ones in bold."""
    mean = round(factor * found.mean, digits) + 0.0  # adding zero turns -0.0 into +0.0
    text = f"{mean:+.{digits}f} ± {factor * found.error:.{digits}f}"
    return f"**{text}**" if found.significant else text


def graph_losses(results: Results) -> str:
    """Test loss at the epoch of each fold's lowest validation loss; in brackets how much more than `stable`'s."""
    rows = []
    for model in (OURS, *MESSAGES, "mlp"):
        pairs = [(results.records.get((name, OURS)), results.records.get((name, model))) for name in GRAPH_SETS]
        rows.append([MODELS[model], *(_test_loss(*pair) for pair in pairs)])
    return markdown(["test loss", *GRAPH_SETS.values()], rows)


def _test_loss(ours: Record | None, other: Record | None) -> str:
    """The other's mean, and the paired difference with its corrected error unless the other is ours."""
    if other is None:
        return "–"
    theirs = _lowest_losses(other)
    if ours is None or ours is other or not _comparable(ours, other):
        return f"{theirs.mean():.3f}"
    return f"{theirs.mean():.3f} ({difference_text(_compare(other, theirs, ours, _lowest_losses(ours)), digits=3)})"


def _lowest_losses(record: Record) -> NDArray[np.float64]:
    """The test loss of every result at the epoch whose validation loss is lowest: nothing is chosen on test."""
    folds = [result.curves for result in record.run.results]
    return np.array([fold.test_loss[np.nanargmin(fold.validation_loss)] for fold in folds])


def _compare(one: Record, its: NDArray[np.float64], other: Record, others: NDArray[np.float64]) -> PairedDifference:
    """``its - others``, a number of every result each; the correction is that of folds which share training items."""
    first, second = by_seed_and_fold(one, its), by_seed_and_fold(other, others)
    if count_folds(one) == 1:
        return corrected_difference(first[:, 0], second[:, 0], 0.0)
    return corrected_difference(first.mean(0), second.mean(0), _test_per_train(one))


def _test_per_train(record: Record) -> float:
    """Test items by training items, the mean over folds."""
    sizes = [result.curves.sizes for result in record.run.results]
    return float(np.mean([test / train for train, _, test in sizes]))


def _comparable(ours: Record, other: Record) -> bool:
    """Whether both were given the same parts of the same splits, and enough of them for a test."""
    same = ours.info.splits_checksum == other.info.splits_checksum and _parts(ours) == _parts(other)
    return same and len(_parts(ours)) > 1


def _parts(record: Record) -> list[tuple[int, int]]:
    """The folds of a run; where it has one alone, the seeds of that."""
    keys = [result.key for result in record.run.results]
    several = count_folds(record) > 1
    return list(dict.fromkeys((key.fold, 0 if several else key.seed) for key in keys))
