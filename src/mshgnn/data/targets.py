"""Targets of any harmless shape and dtype, brought to the form of ``GraphDataset``, and what they ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.data.dataset import METRICS, DataError, Metric, Objective, Task
from mshgnn.data.limits import FLOAT, check_growth, check_limit
from mshgnn.errors import did_you_mean

MANY_CLASSES = 20
"""Whole numbers and words are taken for classes up to so many different ones; beyond, the user is asked."""


class Wish(NamedTuple):
    """What the user said of the targets; ``None`` and ``()`` are left to the targets themselves."""

    objective: Objective | None = None
    metric: Metric | None = None
    num_classes: int | None = None
    class_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()


class Targets(NamedTuple):
    """The targets of all items, int64 ``[items]`` or float32 ``[items, T]``, with everything they decide."""

    values: Tensor
    objective: Objective
    metric: Metric
    num_classes: int
    class_names: tuple[str, ...]
    target_names: tuple[str, ...]


def settle(name: str, task: Task, values: Tensor, wish: Wish) -> Targets:
    """Decide the objective of ``values`` ``[items, T]`` (any dtype), check every entry, and convert.

    Without a wish, whole numbers in one column are classes and other numbers are regressed; several columns of 0 and 1
    are labels, other columns are regressed. A metric that belongs to one objective names it.
    """
    objective = wish.objective or objective_of_metric(name, values.shape[1], wish.metric) or _inferred(name, values)
    if objective not in METRICS:
        raise DataError(f"{name}: unknown objective {objective!r}{did_you_mean(str(objective), METRICS)}")
    metric = wish.metric or METRICS[objective][0]
    if metric not in METRICS[objective]:
        valid = ", ".join(METRICS[objective])
        raise DataError(f"{name}: metric {metric!r} is not one of objective {objective!r}; valid: {valid}")
    if values.is_floating_point() and bool(values.isinf().any()):
        raise DataError(f"{name}: {_where(task, values.isinf().any(dim=1))}: a target is infinite")
    if objective in ("classify", "rank"):
        classes = _classes(name, task, values)
        num_classes, class_names = _class_names(name, int(classes.max()) + 1, wish)
        check_growth(FLOAT * len(classes) * num_classes, values.nbytes, name)  # of outputs: one for each of both
        if objective == "rank" and num_classes != 2:
            raise DataError(f"{name}: {metric} ranks two classes, not {num_classes}")
        return Targets(classes, objective, metric, num_classes, class_names, wish.target_names)
    if wish.num_classes is not None or wish.class_names:
        raise DataError(f"{name}: objective {objective!r} has no classes; leave num_classes and class_names out")
    numbers = _numbers(name, task, values, binary=objective == "multilabel")
    width = numbers.shape[1]
    target_names = wish.target_names or (("target",) if width == 1 else tuple(f"target_{i}" for i in range(width)))
    if len(target_names) != width or len(set(target_names)) != width:
        raise DataError(f"{name}: {width} targets need {width} different names, not {', '.join(target_names)}")
    return Targets(numbers, objective, metric, 2 if objective == "multilabel" else 0, (), target_names)


def objective_of_metric(name: str, num_targets: int, metric: str | None) -> Objective | None:
    """The objective a metric speaks of; None where none is named."""
    if metric is None:
        return None
    fitting: list[Objective] = [objective for objective, metrics in METRICS.items() if metric in metrics]
    if not fitting:
        known = sorted({name for metrics in METRICS.values() for name in metrics})
        raise DataError(f"{name}: unknown metric {metric!r}{did_you_mean(str(metric), known)}")
    return "multilabel" if "multilabel" in fitting and num_targets > 1 else fitting[0]


def _inferred(name: str, values: Tensor) -> Objective:
    if values.shape[1] > 1:
        return "multilabel" if bool(_is_binary(values).all()) else "regress"
    there = values[values.isfinite()]
    if values.is_floating_point() and not torch.equal(there, there.round()):
        return "regress"
    numbers = torch.unique(there)  # sorted
    distinct = len(numbers)
    if not values.is_floating_point() and distinct and int(numbers[0]) in (-1, 0) and bool((numbers.diff() == 1).all()):
        return "classify"  # whole numbers without a gap, stored as such, number classes; -1 is a missing one
    if distinct > MANY_CLASSES:
        raise DataError(
            f"{name}: the targets are {distinct} different whole numbers: "
            "say objective='classify' if they are classes, objective='regress' if they are amounts"
        )
    return "classify"


def _is_binary(values: Tensor) -> Tensor:
    return (values == 0) | (values == 1) | values.isnan()


def _classes(name: str, task: Task, values: Tensor) -> Tensor:
    """Class numbers ``[items]``; an item without a label is -1."""
    if values.shape[1] != 1:
        raise DataError(
            f"{name}: {values.shape[1]} targets, but classes are one; "
            "objective='multilabel' takes several of 0 and 1, objective='regress' several numbers"
        )
    given = values[:, 0]
    missing = given.isnan()
    given = given.masked_fill(missing, -1) if bool(missing.any()) else given
    split = given != given.round() if given.is_floating_point() else torch.zeros_like(given, dtype=torch.bool)
    if bool(split.any()):
        raise DataError(f"{name}: {_where(task, split)}: target {float(given[split][0]):g} is not a whole number")
    if given.is_floating_point() and bool((given.abs() >= 2**53).any()):
        raise DataError(f"{name}: {_where(task, given.abs() >= 2**53)}: a target is too large for a class number")
    classes = given.to(torch.int64)
    negative = (classes < 0) & ~missing if task == "graph" else classes < -1
    if bool(negative.any()):
        raise DataError(f"{name}: {_where(task, negative)}: a target is negative: {int(classes[negative][0])}")
    if int(classes.max()) < 0:
        raise DataError(f"{name}: no {task} has a label")
    return classes


def _class_names(name: str, largest: int, wish: Wish) -> tuple[int, tuple[str, ...]]:
    num_classes = wish.num_classes or len(wish.class_names) or max(largest, 2)
    if largest > num_classes:
        raise DataError(f"{name}: a target is {largest - 1}, but there are only {num_classes} classes")
    check_limit("classes", num_classes, name)
    names = wish.class_names or tuple(str(number) for number in range(num_classes))
    if len(names) != num_classes or len(set(names)) != num_classes:
        raise DataError(f"{name}: {num_classes} classes need {num_classes} different names, not {len(set(names))}")
    return num_classes, names


def _numbers(name: str, task: Task, values: Tensor, *, binary: bool) -> Tensor:
    """Float32 ``[items, T]``, NaN where missing."""
    numbers = values.to(torch.float32)
    wrong = ~_is_binary(numbers) if binary else numbers.isinf()
    if bool(wrong.any()):
        problem = "labels are 0 or 1, not" if binary else "a number too large for float32:"
        raise DataError(f"{name}: {_where(task, wrong.any(dim=1))}: {problem} {float(values[wrong][0]):g}")
    empty = numbers.isnan().all(dim=0)
    if bool(empty.any()):
        raise DataError(f"{name}: target {int(empty.nonzero()[0])} has no value at all")
    return numbers


def _where(task: Task, wrong: Tensor) -> str:
    """The first item marked wrong."""
    return f"{task} {int(wrong.nonzero()[0])}"


def stacked(parts: Sequence[Tensor]) -> Tensor:
    """All targets ``[items, T]`` in one dtype: int64 where all are whole, else float64."""
    if all(not part.is_floating_point() for part in parts):
        return torch.cat([part.to(torch.int64) for part in parts])
    return torch.cat([part.to(torch.float64) for part in parts])


def is_missing(values: Tensor) -> Tensor:
    """Items without any target, bool ``[items]``: class -1, or NaN in every column."""
    return values.isnan().all(dim=1) if values.is_floating_point() else values < 0


def finite(values: Tensor) -> bool:
    """No NaN, no infinity. A finite sum proves it in one cheap pass; otherwise look at every entry."""
    return math.isfinite(float(values.sum())) or bool(torch.isfinite(values).all())
