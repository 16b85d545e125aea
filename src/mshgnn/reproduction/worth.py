"""Where a harmonic message is worth its place: the suites that ask it, each as a table of figures and one of costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from mshgnn.errors import UserError
from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import MODELS, OURS, plain_title
from mshgnn.reproduction.paired import difference_text, paired_difference
from mshgnn.reproduction.published import multitask_figures
from mshgnn.reproduction.results import Results, runs, samples
from mshgnn.training.metrics import KNOWN_METRICS

Suite = Mapping[tuple[str, str], Record]

DRAWN, PANEL = "neighbours", "one-layer"
"""The suite and its data set whose models differ in what they see and in nothing else: with two layers, messages of
messages blur it."""


def worth(results: Results, suite: str) -> str:
    """The models of one suite by data set: the test metric ± over runs; in brackets how much better `stable` is.

    PNA's benchmark has a column of what its authors printed.
    """
    records = results.worth.get(suite, {})

    def title(dataset: str, example: Record) -> str:
        return f"{dataset}: {example.info.metric} ({runs(example)})"

    def figure(dataset: str, record: Record) -> str:
        return _figure(records.get((dataset, OURS)), record)

    printed = {"all targets, as printed": multitask_figures()} if suite == "multitask" else {}
    return _by_set(records, "test", title, figure, printed)


def worth_costs(results: Results, suite: str) -> str:
    """What a run of each model took: seconds of training, and the largest memory of its process."""
    return _by_set(
        results.worth.get(suite, {}),
        "seconds and MB per run",
        lambda dataset, _: dataset,
        lambda _, record: f"{record.seconds / len(record.run.results):,.0f} s, {record.peak_memory_mb:,.0f} MB",
    )


def draw_worth(results: Results, out: Path) -> Path:
    """The test error of a message over the seconds of its training, on functions of neighbours' values."""
    from mshgnn.report.named_points import draw_named_points  # with matplotlib, which no table needs

    return draw_named_points(
        error_and_cost(results),
        out,
        title="What a message misses, and what it costs",
        x="seconds per training, one thread",
        y="test error (1 is a guess)",
        ours=plain_title(OURS),
    )


def error_and_cost(results: Results) -> dict[str, dict[str, tuple[float, float]]]:
    """Seconds per run and headline of every model of :data:`PANEL`, by data set and title."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for (dataset, model), record in results.worth.get(DRAWN, {}).items():
        if dataset != PANEL:
            continue
        seconds = record.seconds / len(record.run.results)
        found.setdefault(dataset.replace("-", " "), {})[plain_title(model)] = (seconds, record.rules[HEADLINE].mean)
    if not found:
        raise UserError(f"there are no records of the suite {DRAWN}; run 'mshgnn run {DRAWN} --record results'")
    return found


def _by_set(
    records: Suite,
    corner: str,
    title: Callable[[str, Record], str],
    text: Callable[[str, Record], str],
    printed: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> str:
    """A row per model, a column per data set, then columns of figures ``printed`` by model."""
    sets = list(dict.fromkeys(dataset for dataset, _ in records))
    models = [model for model in MODELS if any((dataset, model) in records for dataset in sets)]
    examples = [next(record for (name, _), record in records.items() if name == dataset) for dataset in sets]
    rows = []
    for model in models:
        here = [text(dataset, records[dataset, model]) if (dataset, model) in records else "–" for dataset in sets]
        there = [f"{figures[model]:.2f}" if model in figures else "–" for figures in printed.values()]
        rows.append([MODELS[model], *here, *there])
    return markdown([corner, *(title(*one) for one in zip(sets, examples, strict=True)), *printed], rows)


def _figure(ours: Record | None, record: Record) -> str:
    result, metric = record.rules[HEADLINE], KNOWN_METRICS[record.info.metric]
    digits, factor = (1, 100) if metric.is_share else (3, 1)
    text = f"{factor * result.mean:.{digits}f} ± {factor * samples(record).std():.{digits}f}"
    if ours is None or ours is record or (found := paired_difference(ours, record)) is None:
        return text
    return f"{text} ({difference_text(found, digits, factor)})"
