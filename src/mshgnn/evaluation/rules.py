"""Selection rules: pure functions from the curves of all folds to one reported number.

One run is reported under every rule. ``best_validation`` is the headline, always; a rule whose result says
``selects_on_test`` has looked at the test set to choose its epoch and is never ranked by. A new rule is one decorated
function: rules are computed from curves whenever these are read, so no record changes.

Conventions shared by all rules:

- better means larger or smaller, as the curves say (``higher_is_better``); a metric that is not a number is as bad as
  can be when an epoch is chosen, and stays in the result when it is what was chosen;
- an epoch is a position in the curves, counted from 0;
- among equally good epochs the earliest is taken (``best_validation`` lets the validation loss decide first);
- ``std`` is the population standard deviation (numpy's default), over what ``spread`` says in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mshgnn.training.curves import Curves, json_number, oriented

HEADLINE = "best_validation"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class RuleResult:
    """What one rule makes of a run.

    ``per_fold`` and ``epochs`` have one entry per fold; with several seeds, the folds of the first seed come
    first. ``spread`` says what ``std`` is over, in words.
    """

    rule: str
    mean: float
    std: float
    per_fold: tuple[float, ...]
    epochs: tuple[int, ...]
    selects_on_test: bool
    spread: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values that survive strict JSON, though a metric be infinite or not a number."""
        numbers = {"mean": json_number(self.mean), "std": json_number(self.std)}
        per_fold = [json_number(value) for value in self.per_fold]
        return {**asdict(self), **numbers, "per_fold": per_fold, "epochs": list(self.epochs)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RuleResult:
        """Read what :meth:`to_dict` wrote."""
        return cls(
            rule=values["rule"],
            mean=float(values["mean"]),
            std=float(values["std"]),
            per_fold=tuple(float(value) for value in values["per_fold"]),
            epochs=tuple(values["epochs"]),
            selects_on_test=values["selects_on_test"],
            spread=values["spread"],
        )


Selection = Callable[[Sequence[Curves]], tuple[list[int], Sequence[float] | Values]]
"""What a rule's own function does: the chosen epoch and the reported value of every fold."""


@dataclass(frozen=True)
class Rule:
    """A named selection, called with the folds of one seed."""

    name: str
    select: Selection
    selects_on_test: bool
    needs_validation: bool

    def allows(self, folds: Sequence[Curves]) -> bool:
        """Whether the folds have what the rule looks at."""
        return not self.needs_validation or all(fold.sizes[1] > 0 for fold in folds)

    def __call__(self, folds: Sequence[Curves]) -> RuleResult:
        """The rule's result over the folds of one seed."""
        if not folds:
            raise ValueError("a rule needs the curves of at least one fold")
        if len({fold.higher_is_better for fold in folds}) > 1:
            raise ValueError("the folds of a run must agree on the direction of their metric")
        if not self.allows(folds):
            raise ValueError(f"{self.name} needs a validation set, and a fold has none")
        epochs, chosen = self.select(folds)
        values = np.asarray(chosen, dtype=np.float64)
        return RuleResult(
            rule=self.name,
            mean=float(values.mean()),
            std=_std(values),
            per_fold=tuple(values.tolist()),
            epochs=tuple(epochs),
            selects_on_test=self.selects_on_test,
            spread=f"over {len(values)} folds" if len(values) > 1 else "of one fold: no spread",
        )


RULES: dict[str, Rule] = {}


def rule(*, selects_on_test: bool, needs_validation: bool = False) -> Callable[[Selection], Rule]:
    """Make a rule of a function and list it in ``RULES`` under the function's name."""

    def register(select: Selection) -> Rule:
        RULES[select.__name__] = Rule(select.__name__, select, selects_on_test, needs_validation)
        return RULES[select.__name__]

    return register


@rule(selects_on_test=False, needs_validation=True)
def best_validation(folds: Sequence[Curves]) -> tuple[list[int], list[float]]:
    """Per fold, the test metric at the epoch that is best on validation: the headline.

    Equal validation metrics, common on small sets, are decided by the lower validation loss (a loss that is
    not a number loses), then by the earlier epoch.
    """
    epochs = []
    for fold in folds:
        metric = oriented(fold.validation_metric, higher_is_better=fold.higher_is_better)
        loss = oriented(fold.validation_loss, higher_is_better=False)
        # lexsort is stable and its last key counts most: metric, then loss, then the earlier epoch.
        epochs.append(int(np.lexsort((-loss, -metric))[0]))
    return epochs, _test_at(folds, epochs)


@rule(selects_on_test=False)
def last_epoch(folds: Sequence[Curves]) -> tuple[list[int], list[float]]:
    """Per fold, the test metric after the last epoch trained: nothing is selected."""
    epochs = [fold.epochs - 1 for fold in folds]
    return epochs, _test_at(folds, epochs)


@rule(selects_on_test=True)
def average_curve(folds: Sequence[Curves]) -> tuple[list[int], Values]:
    """The one epoch at which the test curve averaged over folds is best (GIN's rule).

    A fold that stopped early keeps its last value for the epochs it did not train, so the one epoch may lie
    behind its end.
    """
    longest = max(fold.epochs for fold in folds)
    curves = np.stack([extended(fold.test_metric, longest) for fold in folds])
    epoch = _best(curves.mean(axis=0), folds[0])
    return [epoch] * len(folds), curves[:, epoch]


@rule(selects_on_test=True)
def best_test_per_fold(folds: Sequence[Curves]) -> tuple[list[int], list[float]]:
    """Per fold, the best test metric of all epochs: optimistic, each fold picks its own luck."""
    epochs = [_best(fold.test_metric, fold) for fold in folds]
    return epochs, _test_at(folds, epochs)


@rule(selects_on_test=True)
def whole_set_best(folds: Sequence[Curves]) -> tuple[list[int], list[float]]:
    """Per fold, the best metric on train, validation and test together: memorising (the released code).

    The parts are averaged by their sizes. That is exact for accuracy, and for MAE without missing targets. The other
    metrics are no means over items: there it is the weighted mean of the three parts' values, which is not the
    ROC-AUC of the whole set, and at most its RMSE.
    """
    curves = [_whole_set(fold) for fold in folds]
    epochs = [_best(curve, fold) for curve, fold in zip(curves, folds, strict=True)]
    return epochs, [float(curve[epoch]) for curve, epoch in zip(curves, epochs, strict=True)]


def applicable(folds: Sequence[Curves]) -> dict[str, Rule]:
    """The rules that these folds allow: without a validation part there is no headline."""
    return {name: rule for name, rule in RULES.items() if rule.allows(folds)}


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
        std=_std(means),
        per_fold=tuple(value for result in results for value in result.per_fold),
        epochs=tuple(epoch for result in results for epoch in result.epochs),
        selects_on_test=results[0].selects_on_test,
        spread=f"over {len(seeds)} seeds of fold means",
    )


def extended(curve: Values, epochs: int) -> Values:
    """The curve of a fold that stopped early, its last value repeated up to the given number of epochs."""
    return np.pad(curve, (0, epochs - len(curve)), mode="edge")


def _best(curve: Values, fold: Curves) -> int:
    """The earliest epoch at which a curve of the fold's metric is best."""
    return int(oriented(curve, higher_is_better=fold.higher_is_better).argmax())


def _test_at(folds: Sequence[Curves], epochs: Sequence[int]) -> list[float]:
    """Each fold's test metric at its own epoch."""
    return [float(fold.test_metric[epoch]) for fold, epoch in zip(folds, epochs, strict=True)]


def _whole_set(fold: Curves) -> Values:
    """The metric on all three parts together, epoch by epoch."""
    parts = np.stack([fold.train_metric, fold.validation_metric, fold.test_metric])
    return np.average(parts, axis=0, weights=fold.sizes)


def _std(values: Values) -> float:
    """The population standard deviation; not a number, without a warning, where a value is not finite."""
    return float(values.std()) if np.isfinite(values).all() else float("nan")
