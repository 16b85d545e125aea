"""Selection rules: pure functions from the curves of all folds to one reported number.

One run is reported under every rule. ``best_validation`` is the headline, always; a rule whose result says
``selects_on_test`` has looked at the test set to choose its epoch and is never ranked by.

Conventions shared by all rules:

- an epoch is a position in the curves, counted from 0;
- among equally good epochs the earliest is taken (``best_validation`` lets the validation loss decide first);
- ``std`` is the population standard deviation (numpy's default), over what ``spread`` says in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mshgnn.training.curves import Curves

HEADLINE = "best_validation"


@dataclass(frozen=True)
class RuleResult:
    """What one rule makes of a run.

    ``per_fold`` and ``epochs`` have one entry a fold; with several seeds, the folds of the first seed come
    first. ``spread`` says what ``std`` is over, in words.
    """

    rule: str
    mean: float
    std: float
    per_fold: tuple[float, ...]
    epochs: tuple[int, ...]
    selects_on_test: bool
    spread: str


Rule = Callable[[Sequence[Curves]], RuleResult]


def best_validation(folds: Sequence[Curves]) -> RuleResult:
    """Per fold, the test metric at the epoch that is best on validation: the headline.

    Equal validation metrics, common on small sets, are decided by the lower validation loss (a loss that is
    not a number loses), then by the earlier epoch.
    """
    epochs = []
    for fold in _checked(folds):
        if fold.sizes[1] == 0:
            raise ValueError("best_validation needs a validation set, and a fold has none")
        loss = np.nan_to_num(fold.validation_loss, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        # lexsort is stable and its last key counts most: metric, then loss, then the earlier epoch.
        epochs.append(int(np.lexsort((loss, -fold.validation_metric))[0]))
    return _test_at("best_validation", folds, epochs, selects_on_test=False)


def last_epoch(folds: Sequence[Curves]) -> RuleResult:
    """Per fold, the test metric after the last epoch trained: nothing is selected."""
    return _test_at("last_epoch", folds, [fold.epochs - 1 for fold in _checked(folds)], selects_on_test=False)


def average_curve(folds: Sequence[Curves]) -> RuleResult:
    """The one epoch at which the test curve averaged over folds is highest (GIN's rule).

    A fold that stopped early keeps its last value for the epochs it did not train, so the one epoch may lie
    behind its end.
    """
    longest = max(fold.epochs for fold in _checked(folds))
    curves = np.stack([extended(fold.test_metric, longest) for fold in folds])
    epoch = int(curves.mean(axis=0).argmax())
    return _result("average_curve", curves[:, epoch], [epoch] * len(folds), selects_on_test=True)


def best_test_per_fold(folds: Sequence[Curves]) -> RuleResult:
    """Per fold, the best test metric of all epochs: optimistic, each fold picks its own luck."""
    epochs = [int(fold.test_metric.argmax()) for fold in _checked(folds)]
    return _test_at("best_test_per_fold", folds, epochs, selects_on_test=True)


def whole_set_best(folds: Sequence[Curves]) -> RuleResult:
    """Per fold, the best metric on train, validation and test together: memorising (the released code).

    The parts are averaged by their sizes, which is exact for accuracy; for ROC-AUC it is the weighted mean
    of the three areas, not the area of the whole set.
    """
    curves = [_whole_set(fold) for fold in _checked(folds)]
    epochs = [int(curve.argmax()) for curve in curves]
    values = np.array([curve[epoch] for curve, epoch in zip(curves, epochs, strict=True)])
    return _result("whole_set_best", values, epochs, selects_on_test=True)


RULES: dict[str, Rule] = {
    "best_validation": best_validation,
    "last_epoch": last_epoch,
    "average_curve": average_curve,
    "best_test_per_fold": best_test_per_fold,
    "whole_set_best": whole_set_best,
}


def applicable(folds: Sequence[Curves]) -> dict[str, Rule]:
    """The rules that these folds allow: without a validation part there is no headline."""
    chosen_on_validation = all(fold.sizes[1] > 0 for fold in folds)
    return {name: rule for name, rule in RULES.items() if chosen_on_validation or name != HEADLINE}


def evaluate(rule: Rule, seeds: Sequence[Sequence[Curves]]) -> RuleResult:
    """Apply a rule to a run of one or several seeds, each a sequence of folds.

    One seed: the rule's own result, ± over folds. Several: the rule is applied seed by seed, and mean and ±
    are over the seeds' fold means.
    """
    if not seeds:
        raise ValueError("a rule needs the curves of at least one seed")
    results = [rule(folds) for folds in seeds]
    if len(results) == 1:
        return results[0]
    means = np.array([result.mean for result in results])
    return RuleResult(
        rule=results[0].rule,
        mean=float(means.mean()),
        std=float(means.std()),
        per_fold=tuple(value for result in results for value in result.per_fold),
        epochs=tuple(epoch for result in results for epoch in result.epochs),
        selects_on_test=results[0].selects_on_test,
        spread=f"over {len(seeds)} seeds of fold means",
    )


def _checked(folds: Sequence[Curves]) -> Sequence[Curves]:
    """The folds, of which there must be one at least."""
    if not folds:
        raise ValueError("a rule needs the curves of at least one fold")
    return folds


def extended(curve: NDArray[np.float64], epochs: int) -> NDArray[np.float64]:
    """The curve of a fold that stopped early, its last value repeated up to the given number of epochs."""
    return np.pad(curve, (0, epochs - len(curve)), mode="edge")


def _whole_set(fold: Curves) -> NDArray[np.float64]:
    """The metric on all three parts together, epoch by epoch."""
    parts = np.stack([fold.train_metric, fold.validation_metric, fold.test_metric])
    return np.average(parts, axis=0, weights=fold.sizes)


def _test_at(rule: str, folds: Sequence[Curves], epochs: list[int], *, selects_on_test: bool) -> RuleResult:
    """Each fold's test metric at its own epoch."""
    values = np.array([fold.test_metric[epoch] for fold, epoch in zip(folds, epochs, strict=True)])
    return _result(rule, values, epochs, selects_on_test=selects_on_test)


def _result(rule: str, values: NDArray[np.float64], epochs: list[int], *, selects_on_test: bool) -> RuleResult:
    """The result over the folds of one seed."""
    return RuleResult(
        rule=rule,
        mean=float(values.mean()),
        std=float(values.std()),
        per_fold=tuple(values.tolist()),
        epochs=tuple(epochs),
        selects_on_test=selects_on_test,
        spread=f"over {len(values)} folds" if len(values) > 1 else "of one fold: no spread",
    )
