"""Figures as PNG files: learning curves, and t-SNE pictures of embeddings.

Figures are drawn on their own Agg canvas: nothing is shown, no global state of matplotlib is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from sklearn.manifold import TSNE
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from mshgnn.evaluation.rules import extended
from mshgnn.files import written
from mshgnn.report.canvas import save_picture
from mshgnn.training.curves import Curves

# Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT = "#333333", "#E3E3E3"
DOTS_PER_INCH = 160
MOST_POINTS = 1000


def learning_curves(runs: Mapping[str, Sequence[Curves]], path: Path, *, title: str) -> Path:
    """Draw loss and accuracy by epoch, one colour a run: validation solid, training dashed.

    A line is the mean over the run's folds (a fold that stopped early keeps its last value), the band of the
    validation line one standard deviation either side. Folds without a validation part have no such line.
    """
    if not runs or not all(runs.values()):
        raise ValueError("learning curves need at least one run, and every run at least one fold")
    if len(runs) > len(PALETTE):
        raise ValueError(f"learning curves can tell {len(PALETTE)} runs apart, not {len(runs)}")
    figure = Figure(figsize=(9.0, 3.9), layout="constrained")
    for axes, kind, label in zip(figure.subplots(1, 2), ("loss", "metric"), ("loss", "accuracy"), strict=True):
        for colour, folds in zip(PALETTE, runs.values(), strict=False):
            _draw_mean(axes, folds, f"train_{kind}", colour, dashed=True)
            if validated := [fold for fold in folds if fold.sizes[1]]:
                _draw_mean(axes, validated, f"validation_{kind}", colour, dashed=False)
        dress(axes, label)
        axes.set_xlabel("epoch", color=INK)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.margins(x=0.01)
    handles = [Line2D([], [], color=colour, lw=2.2) for colour in PALETTE[: len(runs)]]
    handles += [Line2D([], [], color=INK, lw=1.6), Line2D([], [], color=INK, lw=1.2, ls=(0, (4, 2)))]
    _legend(figure, handles, [*runs, "validation", "training"])
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    return _save(figure, path)


def tsne(
    embeddings: Mapping[str, ArrayLike],
    structures: Sequence[str],
    modes: Sequence[int],
    path: Path,
    *,
    title: str,
    seed: int = 0,
) -> Path:
    """Draw t-SNE pictures of graph embeddings, one panel per model in two columns.

    Colour and marker are the structure, and the colour darkens with the mode. Columns of an embedding ``[N, D]`` are
    scaled to unit variance first. Of more than a thousand graphs a random thousand is drawn, the same for every model.
    """
    arrays = {name: _checked_embedding(name, value, len(structures)) for name, value in embeddings.items()}
    if not arrays:
        raise ValueError("a t-SNE figure needs at least one embedding")
    if len(modes) != len(structures):
        raise ValueError(f"structures and modes must be as many, got {len(structures)} and {len(modes)}")
    families = sorted(set(structures))
    if len(families) > len(PALETTE):
        raise ValueError(f"a t-SNE figure can tell {len(PALETTE)} structures apart, not {len(families)}")
    numbers = sorted(set(modes))
    shades = {family: shades_of(colour, len(numbers)) for family, colour in zip(families, PALETTE, strict=False)}
    chosen = np.sort(np.random.default_rng(seed).permutation(len(structures))[:MOST_POINTS])

    columns = min(2, len(arrays))
    rows = -(-len(arrays) // columns)
    heights = (3.7 * rows, 0.55 + 0.24 * len(families))
    figure = Figure(figsize=(4.2 * columns, 0.3 + sum(heights)), layout="constrained")
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)
    panels = list(above.subplots(rows, columns, squeeze=False).flat)
    for axes in panels[len(arrays) :]:
        axes.axis("off")
    for axes, (name, array) in zip(panels, arrays.items(), strict=False):
        points = tsne_points(StandardScaler().fit_transform(array[chosen]), seed)
        for family, marker in zip(families, MARKERS, strict=False):
            drawn = [place for place, graph in enumerate(chosen) if structures[graph] == family]
            colours = [shades[family][numbers.index(modes[chosen[place]])] for place in drawn]
            axes.scatter(*points[drawn].T, c=colours, marker=marker, s=20, linewidths=0)
        axes.set_title(name, loc="left", fontsize=11, color=INK)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(FAINT)
    _key(below.subplots(), shades, numbers)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    return save_picture(figure, path)


def shades_of(colour: str, count: int) -> list[str]:
    """A colour from pale to dark in ``count`` steps; a single one is the colour itself."""
    if count == 1:
        return [colour]
    scale = LinearSegmentedColormap.from_list("shades", ["white", colour, "black"])
    return [to_hex(scale(place)) for place in np.linspace(0.2, 0.85, count)]


def _draw_mean(axes: Axes, folds: Sequence[Curves], name: str, colour: str, *, dashed: bool) -> None:
    longest = max(fold.epochs for fold in folds)
    curves = np.stack([extended(getattr(fold, name), longest) for fold in folds])
    curves[~np.isfinite(curves)] = np.nan  # an infinite loss leaves a gap
    epochs = np.arange(1, longest + 1)
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    style = {"lw": 1.0, "ls": (0, (4, 2)), "alpha": 0.85} if dashed else {"lw": 1.7}
    # A single epoch would be an invisible line.
    axes.plot(epochs, mean, color=colour, marker="o" if longest == 1 else None, ms=4, **style)
    if not dashed and len(folds) > 1:
        axes.fill_between(epochs, mean - spread, mean + spread, color=colour, alpha=0.14, lw=0)


def dress(axes: Axes, title: str) -> None:
    """Quiet axes with a title on the left."""
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(axis="y", color=FAINT, lw=0.8)
    axes.set_axisbelow(True)


def _legend(figure: Figure, handles: Sequence[Line2D], labels: Sequence[str]) -> None:
    figure.legend(handles, labels, loc="outside lower left", ncols=6, frameon=False, fontsize=9, labelcolor=INK)


def _key(axes: Axes, shades: Mapping[str, Sequence[str]], modes: Sequence[int]) -> None:
    """A row per structure, a column per mode: what every marker and shade means."""
    for row, (marker, colours) in enumerate(zip(MARKERS, shades.values(), strict=False)):
        axes.scatter(range(len(modes)), [row] * len(modes), c=colours, marker=marker, s=34, linewidths=0)
    axes.set_yticks(range(len(shades)), list(shades))
    axes.set_xticks(range(len(modes)), [str(mode) for mode in modes])
    axes.set(xlim=(-0.6, max(len(modes), 10) - 0.4), ylim=(len(shades) - 0.5, -0.5))
    axes.set_xlabel("mode", fontsize=9, color=INK)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    axes.spines[:].set_visible(False)


def _checked_embedding(name: str, value: ArrayLike, rows: int) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 2 or len(array) != rows:
        raise ValueError(f"the embedding of {name} must have shape [{rows}, D], not {list(array.shape)}")
    if rows < 4:
        raise ValueError(f"t-SNE needs at least 4 graphs, got {rows}")
    if not np.isfinite(array).all():
        raise ValueError(f"the embedding of {name} holds values that are not finite")
    return array


def tsne_points(array: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Rows ``[N, D]``, at least four, laid out in two dimensions by t-SNE."""
    perplexity = min(30.0, (len(array) - 1) / 3)
    start = "pca" if array.shape[1] >= 2 and np.ptp(array) > 0 else "random"
    with threadpool_limits(limits=1):  # its threads wait for each other: on a busy machine a hundred times as long
        points = TSNE(perplexity=perplexity, init=start, random_state=seed, n_jobs=1).fit_transform(array)
    return np.asarray(points, dtype=np.float64)


def _save(figure: Figure, path: Path) -> Path:
    FigureCanvasAgg(figure)
    with written(path) as file:
        figure.savefig(file, dpi=DOTS_PER_INCH, format="png", facecolor="white")
    return path
