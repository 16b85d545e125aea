"""Where a harmonic message is worth its place: the suites that ask it, each as one table."""

from __future__ import annotations

from statistics import mean

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import MODELS
from mshgnn.reproduction.results import Results, runs
from mshgnn.training.metrics import KNOWN_METRICS

YARDSTICK = "gcn"
"""Whose time is one."""


def worth(results: Results, suite: str) -> str:
    """The models of one suite by data set: test metric ± over runs, then its time over GCN's."""
    records = results.worth.get(suite, {})
    sets = list(dict.fromkeys(dataset for dataset, _ in records))
    models = [model for model in MODELS if any((dataset, model) in records for dataset in sets)]
    header = ["test"]
    for dataset in sets:
        example = next(record for (name, _), record in records.items() if name == dataset)
        header += [f"{dataset}: {example.info.metric} ({runs(example)})", "time over GCN's"]
    rows = []
    for model in models:
        cells = [MODELS[model]]
        for dataset in sets:
            record = records.get((dataset, model))
            cells += [_figure(record), _time(record, records.get((dataset, YARDSTICK)))]
        rows.append(cells)
    return markdown(header, rows)


def _figure(record: Record | None) -> str:
    if record is None:
        return "–"
    result, metric = record.rules[HEADLINE], KNOWN_METRICS[record.info.metric]
    digits, factor = (1, 100) if metric.is_share else (3, 1)
    return f"{factor * result.mean:.{digits}f} ± {factor * result.std:.{digits}f}"


def _time(record: Record | None, yardstick: Record | None) -> str:
    if record is None or yardstick is None:
        return "–"
    mine, other = (mean(fold.seconds for fold in one.run.results) for one in (record, yardstick))
    return f"{mine / other:.2f}"
