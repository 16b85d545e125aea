"""A metric of a model or a control on test parts, whole and target by target: for a training and for a file."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from mshgnn.report.page.contents import Measured, OneTarget
from mshgnn.training.objective import Objective


def measured(
    name: str, objective: Objective, found: Sequence[Tensor], truth: Sequence[Tensor], target_names: Sequence[str]
) -> Measured:
    """What ``found`` is worth in each fold; several targets are also told apart."""
    folds = list(zip(found, truth, strict=True))
    each = zip(*(objective.measure_each(values, target) for values, target in folds), strict=True)
    targets = tuple(
        OneTarget(target, tuple(one.known for one in ones), tuple(one.value for one in ones))
        for target, ones in zip(target_names, each, strict=False)  # one target alone is not told apart
    )
    return Measured(name, tuple(objective.measure(values, target) for values, target in folds), targets)
