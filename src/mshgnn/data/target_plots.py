"""Pictures of targets: histograms of numbers, shares of 0 and 1, shares of classes.

Names are a user's: none of them is read as a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.pictures import short

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_HISTOGRAMS = 12
MOST_BARS = 40
MOST_BINS = 40
ONE, ZERO, BLANK = "tab:blue", "0.75", "1.0"


class Bar(NamedTuple):
    """One bar: shares of all items with their colours, and what is written beside it."""

    name: str
    shares: tuple[tuple[float, str], ...]
    text: str


def draw_targets(dataset: GraphDataset) -> tuple[Figure, str]:
    """The picture, and in words what of the targets it shows where they do not all fit."""
    if dataset.objective == "regress":
        return _histograms(dataset)
    if dataset.objective == "multilabel":
        legend = (("1", ONE), ("0", ZERO), ("blank", BLANK))
        return _bars(dataset, _labels(dataset), "targets", legend)
    return _bars(dataset, _classes(dataset), "classes", ())


def _histograms(dataset: GraphDataset) -> tuple[Figure, str]:
    """Small multiples, one for each target."""
    from matplotlib.figure import Figure

    names = dataset.target_names[:MOST_HISTOGRAMS]
    cut = _cut(len(dataset.target_names), MOST_HISTOGRAMS, "targets")
    columns = 1 if len(names) == 1 else 2 if len(names) <= 4 else 4 if len(names) > 9 else 3
    rows = -(-len(names) // columns)
    wide = max(4.6, 2.9 * columns)
    figure = Figure(figsize=(wide, 2.4 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    labels = dataset.labels().double().numpy()
    for number, axis in enumerate(axes.flat):
        if number < len(names):
            _histogram(axis, names[number], labels[:, number])
        else:
            axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{dataset.task}s")
    _title(figure, dataset, "values of the target" if len(names) == 1 else "values of each target", cut)
    return figure, cut


def _histogram(axis: Axes, name: str, column: npt.NDArray[np.float64]) -> None:
    there = column[~np.isnan(column)]
    low, high = float(there.min()), float(there.max())
    bins = int(np.clip(round(len(there) ** 0.5), 5, MOST_BINS))
    if low == high:  # nothing to divide: one bar around the only value
        low, high, bins = low - 0.5 * max(abs(low), 1), high + 0.5 * max(abs(high), 1), 1
    counts, edges = np.histogram(there, np.linspace(low, high, bins + 1))
    axis.stairs(counts, edges, fill=True, color=ONE)
    blank = len(column) - len(there)
    axis.set_title(short(name), fontsize=10, parse_math=False)
    axis.set_xlabel(f"{len(there):,} values" + (f", {blank:,} blank" if blank else ""), fontsize=8, color="0.35")
    axis.tick_params(labelsize=8)
    axis.locator_params(axis="x", nbins=5)
    axis.spines[["top", "right"]].set_visible(False)


def _labels(dataset: GraphDataset) -> list[Bar]:
    labels = dataset.labels()
    bars = []
    for name, column in zip(dataset.target_names, labels.unbind(dim=1), strict=True):
        ones, zeros = int((column == 1).sum()), int((column == 0).sum())
        blank = len(column) - ones - zeros
        parts = ((ones, ONE), (zeros, ZERO), (blank, BLANK))
        text = f"{100 * ones / (ones + zeros):.1f} % of {ones + zeros:,} are 1"
        bars.append(Bar(name, tuple((count / len(column), colour) for count, colour in parts), text))
    return bars


def _classes(dataset: GraphDataset) -> list[Bar]:
    labels = dataset.labels()
    counts = torch.bincount(labels[labels >= 0], minlength=dataset.num_classes).tolist()
    known = sum(counts)
    return [
        Bar(name, ((count / known, ONE),), f"{count:,} ({100 * count / known:.1f} %)")
        for name, count in zip(dataset.class_names, counts, strict=True)
    ]


def _bars(
    dataset: GraphDataset, every: Sequence[Bar], things: str, legend: Sequence[tuple[str, str]]
) -> tuple[Figure, str]:
    """Bars from the top down, each from 0 to all items."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    bars, cut = every[:MOST_BARS], _cut(len(every), MOST_BARS, things)
    figure = Figure(figsize=(7, 0.28 * len(bars) + 1.5), layout="constrained")
    axis = figure.subplots()
    for place, bar in enumerate(bars):
        start = 0.0
        for share, colour in bar.shares:
            (drawn,) = axis.barh(place, 100 * share, left=100 * start, height=0.72, color=colour)
            drawn.set(edgecolor="0.6", linewidth=0.4, clip_on=False)
            start += share
        axis.text(101, place, bar.text, va="center", fontsize=8, color="0.35")
    axis.set_yticks(range(len(bars)), [short(bar.name) for bar in bars], fontsize=8, parse_math=False)
    axis.set_xlim(0, 100)
    axis.set_ylim(len(bars) - 0.4, -0.6)
    axis.set_xlabel(f"% of the {dataset.task}s" + ("" if legend else " with a class"))
    axis.spines[["top", "right"]].set_visible(False)
    if legend:
        patches = [Patch(facecolor=colour, edgecolor="0.6", linewidth=0.4, label=name) for name, colour in legend]
        figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), frameon=False, fontsize=8)
    _title(figure, dataset, f"shares of {'0 and 1' if legend else 'the classes'}", cut)
    return figure, cut


def _cut(count: int, most: int, things: str) -> str:
    """What is said where not all are drawn."""
    return f"the first {most} of {count:,} {things}" if count > most else ""


def _title(figure: Figure, dataset: GraphDataset, what: str, cut: str) -> None:
    figure.suptitle(f"{short(dataset.name)}: {what}" + (f", {cut}" if cut else ""), fontsize=11, parse_math=False)
