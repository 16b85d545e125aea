"""Where a harmonic message is worth its place: the suites that ask it, each as one table."""

from __future__ import annotations

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import MODELS
from mshgnn.reproduction.results import Results, runs
from mshgnn.training.metrics import KNOWN_METRICS


def worth(results: Results, suite: str) -> str:
    """The models of one suite by data set: test metric ± over runs.

    Whole runs share their machine, so their seconds are not shown: ``mshgnn bench`` measures the same messages.
    """
    records = results.worth.get(suite, {})
    sets = list(dict.fromkeys(dataset for dataset, _ in records))
    models = [model for model in MODELS if any((dataset, model) in records for dataset in sets)]
    header = ["test"]
    for dataset in sets:
        example = next(record for (name, _), record in records.items() if name == dataset)
        header.append(f"{dataset}: {example.info.metric} ({runs(example)})")
    rows = [[MODELS[model], *(_figure(records.get((dataset, model))) for dataset in sets)] for model in models]
    return markdown(header, rows)


def _figure(record: Record | None) -> str:
    if record is None:
        return "–"
    result, metric = record.rules[HEADLINE], KNOWN_METRICS[record.info.metric]
    digits, factor = (1, 100) if metric.is_share else (3, 1)
    return f"{factor * result.mean:.{digits}f} ± {factor * result.std:.{digits}f}"
