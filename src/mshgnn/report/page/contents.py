"""What a page is made of: plain data, gathered from a trained model or from a run by whoever knows these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mshgnn.evaluation.rules import RuleResult
from mshgnn.training.metrics import KNOWN_METRICS, Metric

Array = NDArray[np.float64]


def spread_text(mean: float, spread: float, metric: Metric) -> str:
    """A spread with as many digits as the mean that it stands beside."""
    text = metric.as_text(mean)
    if metric.is_share or not (math.isfinite(mean) and math.isfinite(spread)) or "e" in text:
        return metric.as_text(spread)
    return f"{spread:.{len(text.partition('.')[2])}f}"


@dataclass(frozen=True)
class Measured:
    """A metric on the test part of every fold: of the model, or of a control."""

    name: str
    per_fold: tuple[float, ...]
    targets: tuple[OneTarget, ...] = ()
    """Each of several targets; the figure of a fold is the mean over those that define it."""

    @property
    def mean(self) -> float:
        """Over the folds."""
        return float(np.mean(self.per_fold))

    @property
    def spread(self) -> float | None:
        """Standard deviation over the folds; None for one."""
        return float(np.std(self.per_fold)) if len(self.per_fold) > 1 else None

    def text(self, metric: Metric) -> str:
        """Mean and spread as a reader wants them."""
        mean = metric.as_text(self.mean) if math.isfinite(self.mean) else "not a number"
        return mean if self.spread is None else f"{mean} ± {spread_text(self.mean, self.spread, metric)}"


@dataclass(frozen=True)
class OneTarget:
    """A metric of one of several targets on the test part of every fold; None where it is not defined there."""

    name: str
    known: tuple[int, ...]
    """How many values of each fold's test part are known."""
    per_fold: tuple[float | None, ...]

    @property
    def measured(self) -> Measured | None:
        """The folds that define it; None without any."""
        defined = tuple(value for value in self.per_fold if value is not None)
        return Measured(self.name, defined) if defined else None

    def text(self, metric: Metric) -> str:
        """Mean and spread over the folds that define it."""
        measured = self.measured
        if measured is None:
            return "not defined"
        missing = len(measured.per_fold) < len(self.per_fold)
        of = f" ({len(measured.per_fold)} of {len(self.per_fold)} folds)" if missing else ""
        return measured.text(metric) + of


@dataclass(frozen=True)
class FoldCurves:
    """The curves of one fold by their names, as in ``Curves``; ``chosen`` is the epoch kept, counted from 0."""

    name: str
    series: Mapping[str, tuple[float, ...]]
    chosen: int | None = None


@dataclass(frozen=True)
class Items:
    """Test items: the row of the file and the fold of each, its truth and what was predicted.

    With classes ``truth`` is ``[n, 1]``, the number of the class, and ``values`` ``[n, C]``, probabilities. Otherwise
    both are ``[n, T]``: numbers, or 0 and 1 and the probability of 1. A missing truth is NaN.
    """

    rows: tuple[int, ...]
    folds: tuple[int, ...]
    truth: Array
    values: Array

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)


@dataclass(frozen=True)
class Intervals:
    """What the intervals of a regression promise, and half the width of each target's; None where it is too wide."""

    coverage: float
    half_widths: tuple[float | None, ...]


@dataclass(frozen=True)
class Response:
    """Shares of the messages' energy in the bands of one layer: the mean, and the middle half of all edges."""

    bands: tuple[str, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Weighted:
    """A shown item with a weight from 0 to 1 for each drawn edge, layer by layer."""

    item: int
    layers: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Shown:
    """The test items that a page shows one by one, at most a few thousand.

    ``items`` are positions in :class:`Items`; the other sequences run beside it. ``components`` ``[n, c]`` are the
    principal components of the embeddings, fold by fold, for each member has a space of its own. ``drawings`` are
    texts as :mod:`mshgnn.report.page.drawing` packs them, None where a graph is too large to be drawn small.
    """

    items: tuple[int, ...]
    components: Array
    distances: tuple[float, ...]
    drawings: tuple[str | None, ...]
    vocabulary: tuple[str, ...] = ()
    responses: tuple[Response, ...] = ()
    weights_are: str = ""
    """What the edge weights are, in words; empty where the model gives none."""
    weighted: tuple[Weighted, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        content["components"] = self.components.round(4).tolist()
        content["distances"] = [round(value, 4) for value in self.distances]
        content["responses"] = [vars(response) for response in self.responses]
        content["weighted"] = [vars(weighted) for weighted in self.weighted]
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Shown:
        """The inverse of :meth:`to_json`; ``ValueError``, ``TypeError`` or ``KeyError`` for anything else."""
        names = ("items", "distances", "drawings", "vocabulary")
        return cls(
            **{name: tuple(content[name]) for name in names},
            components=np.asarray(content["components"], dtype=np.float64).reshape(len(content["items"]), -1),
            responses=tuple(Response(**{k: tuple(v) for k, v in given.items()}) for given in content["responses"]),
            weights_are=str(content["weights_are"]),
            weighted=tuple(
                Weighted(given["item"], tuple(tuple(layer) for layer in given["layers"]))
                for given in content["weighted"]
            ),
        )


@dataclass(frozen=True)
class NewData:
    """Rows of another file: how far each is from the training data (above 1 is beyond it), and what is predicted."""

    name: str
    rows: tuple[int, ...]
    distances: tuple[float, ...]
    predictions: tuple[str, ...]
    failed: int = 0


@dataclass(frozen=True)
class Subject:
    """One run or trained model. What is not known is None or empty, and the page says so."""

    name: str
    """As the page calls it; different from all others on the page."""
    source: str
    """``model`` or ``run``."""
    model: str
    dataset: str
    task: str
    metric_name: str
    headline: Measured
    rule: str
    """How the headline's epoch was chosen, in one sentence."""
    folds: tuple[FoldCurves, ...]
    controls: tuple[Measured, ...] = ()
    rules: Mapping[str, RuleResult] = field(default_factory=dict)
    rules_unit: str = ""
    """What is to be said of the unit of ``rules``, where it is not that of the headline."""
    pairing: str = ""
    """Equal for two subjects that were given the same folds of the same data."""
    objective: str = ""
    class_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    items: Items | None = None
    intervals: Intervals | None = None
    shown: Shown | None = None
    new_data: NewData | None = None
    facts: tuple[tuple[str, str], ...] = ()
    """What was run, as pairs of a name and a value."""
    config: str = ""
    notes: tuple[str, ...] = ()
    """What a reader must know first."""

    @property
    def metric(self) -> Metric:
        """How the metric is written, and in which direction it is better."""
        return KNOWN_METRICS[self.metric_name]

    @property
    def has_classes(self) -> bool:
        """Whether an item has one class of several."""
        return self.objective in ("classify", "rank")

    @property
    def things(self) -> str:
        """What items are: graphs or nodes."""
        return f"{self.task}s"
