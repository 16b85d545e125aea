"""Which test items are shown one by one, and how wrong each is."""

from __future__ import annotations

import numpy as np

from mshgnn.report.page.contents import Array, Items, Shown, Subject

MOST_ITEMS = 5_000


def shown_of(subject: Subject) -> Shown:
    """The items kept to be shown; without them the first ones, which cannot be drawn as graphs."""
    if subject.shown is not None:
        return subject.shown
    count = 0 if subject.items is None else min(len(subject.items), MOST_ITEMS)
    return Shown(tuple(range(count)), np.empty((count, 0)), (), (None,) * count)


def wrongness(subject: Subject, items: Items) -> Array:
    """``[n]``, larger is worse, NaN where no truth is known.

    Classes and labels: one minus the probability of the truth (of the worst label). Numbers: the absolute error in
    units of each target's deviation, the mean over targets.
    """
    truth, values = items.truth, items.values
    if subject.has_classes:
        known = np.isfinite(truth[:, 0])
        chosen = np.where(known, truth[:, 0], 0).astype(np.int64)
        return np.where(known, 1 - values[np.arange(len(values)), chosen], np.nan)
    error = np.abs(values - truth)
    known = ~np.isnan(error)
    if subject.objective == "multilabel":
        return np.where(known.any(axis=1), np.where(known, error, -np.inf).max(axis=1), np.nan)
    spread = np.array([float(column[~np.isnan(column)].std() or 1.0) if column.size else 1.0 for column in truth.T])
    total = np.where(known, error / np.where(spread > 0, spread, 1.0), 0.0).sum(axis=1)
    counts = known.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def is_wrong(subject: Subject, items: Items) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """``[n]``: another class was predicted, a label is on the wrong side, or (numbers) any item with a truth."""
    score = wrongness(subject, items)
    if subject.has_classes:
        known = np.isfinite(items.truth[:, 0])
        return known & (items.values.argmax(axis=1) != np.where(known, items.truth[:, 0], -1))
    if subject.objective == "multilabel":
        return np.nan_to_num(score) > 0.5
    return np.isfinite(score)


def said(subject: Subject, items: Items, item: int) -> tuple[str, str]:
    """Truth and prediction of an item, in words."""
    truth, values = items.truth[item], items.values[item]
    if subject.has_classes:
        best = int(values.argmax())
        known = "unknown" if np.isnan(truth[0]) else subject.class_names[int(truth[0])]
        return known, f"{subject.class_names[best]} ({100 * values[best]:.0f} %)"
    names = subject.target_names
    if subject.objective == "multilabel":
        ones = [name for name, value in zip(names, truth, strict=True) if value == 1]
        claimed = [f"{name} ({100 * v:.0f} %)" for name, v in zip(names, values, strict=True) if v > 0.5]
        return ", ".join(ones[:4]) or "none", ", ".join(claimed[:4]) or "none"
    if len(names) == 1:
        return ("unknown" if np.isnan(truth[0]) else f"{truth[0]:.4g}"), f"{values[0]:.4g}"
    worst = int(np.nan_to_num(np.abs(values - truth)).argmax())
    return f"{names[worst]} {truth[worst]:.4g}", f"{names[worst]} {values[worst]:.4g}"
