"""Where the model puts each test item: its embeddings in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mshgnn.report.figures import tsne_points
from mshgnn.report.page.charts import Scatter, View
from mshgnn.report.page.contents import Array, Subject
from mshgnn.report.page.section import Block, Figure, Missing, Section, Text, for_each

MOST_TSNE = 1_000
"""Points that t-SNE lays out on one page, shared among the folds: its time grows faster than their number."""
FEWEST = 4
QUANTILES = 5
SEQUENTIAL = 100
"""Colours from here on run from light to dark."""


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """One view by principal components and one by t-SNE for each fold."""
    lead = "Neighbours here look alike to the model. A point among neighbours of another colour is worth a look."
    return for_each("embedding", "Embedding", lead, subjects, _blocks)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    shown, items = subject.shown, subject.items
    if items is None:
        return "a run keeps curves, not embeddings"
    if shown is None:
        return "the folder holds no embeddings; train again to have them kept"
    folds = np.array([items.folds[item] for item in shown.items])
    distinct = np.unique(folds)
    views: list[View] = []
    for fold in distinct:
        points = np.flatnonzero(folds == fold)
        group = f"fold {fold + 1}"
        components = shown.components[points]
        if len(points) < FEWEST or components.shape[1] < 2 or not np.isfinite(components).all():
            continue
        views.append(_view(group, "PCA", points, components[:, :2]))
        chosen = np.sort(np.random.default_rng(0).permutation(len(points))[: max(FEWEST, MOST_TSNE // len(distinct))])
        if float(np.ptp(components)) > 0:
            laid = tsne_points(components[chosen], seed=0)
            views.append(_view(group, "t-SNE", points[chosen], laid))
    if not views:
        return f"fewer than {FEWEST} test items, or embeddings that are not numbers, cannot be laid out"
    colours, legend, words = _colours(subject)
    summary = f"Embeddings of {len(shown.items):,} test {subject.things} in two dimensions, coloured by {words}"
    chart = Scatter("Embedding", summary, number, views, colours, legend, axes=False)
    hollow = " Hollow points are predicted wrongly." if subject.has_classes else ""
    caption = (
        f"Coloured by {words}.{hollow} Point at a dot, or use the arrow keys, to see its graph, truth and prediction. "
        "Distances between far islands of t-SNE mean nothing."
    )
    blocks: list[Block] = [Figure(chart, caption, wide=True)]
    if len(distinct) > 1:
        blocks.append(Text("Each fold has a model of its own, so each fold has its own picture."))
    laid_out = {point for view in views if view.name == "t-SNE" for point in view.points}
    if 0 < len(laid_out) < len(shown.items):
        blocks.append(Text(f"t-SNE lays out {len(laid_out):,} of {len(shown.items):,} items, drawn at random."))
    return blocks


def _view(group: str, name: str, points: np.ndarray[tuple[int], np.dtype[np.int64]], laid: Array) -> View:
    """Brought to the square from 0 to 1, two digits after the third being noise."""
    span = np.maximum(np.ptp(laid, axis=0), 1e-12)
    placed = ((laid - laid.min(axis=0)) / span).round(3)
    return View(group, name, points.tolist(), placed[:, 0].tolist(), placed[:, 1].tolist())


def _colours(subject: Subject) -> tuple[list[int], list[str], str]:
    """A colour for each shown item, what they mean, and by what they are chosen."""
    assert subject.items is not None
    assert subject.shown is not None
    chosen = np.array(subject.shown.items, dtype=np.int64)
    truth = subject.items.truth[chosen, 0]
    name = subject.target_names[0] if subject.target_names else "target"
    if subject.has_classes:
        codes = [-1 if np.isnan(value) else int(value) % 8 for value in truth]
        return codes, list(subject.class_names[:8]), "true class"
    if subject.objective == "multilabel":
        return [-1 if np.isnan(value) else int(value) for value in truth], ["0", "1"], f"the label {name}"
    known = truth[np.isfinite(truth)]
    if not len(known):
        return [-1] * len(chosen), [], f"the true {name}"
    edges = np.quantile(known, np.linspace(0, 1, QUANTILES + 1))
    bins = np.clip(np.searchsorted(edges[1:-1], truth, side="right"), 0, QUANTILES - 1)
    codes = [-1 if np.isnan(value) else SEQUENTIAL + int(one) for value, one in zip(truth, bins, strict=True)]
    legend = [f"{edges[one]:.3g} to {edges[one + 1]:.3g}" for one in range(QUANTILES)]
    return codes, legend, f"the true {name}, in fifths"
