"""What `stable` was aimed at, what it reached, and how much of the distance chance alone could be."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import MODELS, OURS, SETS
from mshgnn.reproduction.results import Results

GOALS = {
    "MUTAG": 88.0,
    "PTC": 63.0,
    "PROTEINS": 75.8,
    "NCI1": 84.0,
    "IMDB-BINARY": 75.3,
    "IMDB-MULTI": 52.6,
    "REDDIT-BINARY": 93.0,
    "COLLAB": 82.0,
    "AmazonPhoto": 96.8,
    "AmazonComputers": 93.7,
    "CoauthorPhysics": 97.5,
    "Minesweeper": 98.3,
    "structure-frequency-fixed": 90.0,
    "structure-frequency-varied": 80.0,
    "structure-frequency-wellposed": 72.0,
}
"""In percent under ``best_validation``: what the best model of version 0.1.0's tables or in print reaches, if chosen on
validation; on the joint task, what was set before its runs."""


def goals(results: Results) -> str:
    """Every goal beside what was reached, the standard error of the test parts, and the best of the models run here.

    The last column lets every model choose its epoch on test: a goal above it is reached by no model in the tables.
    """
    rows = []
    for dataset, goal in GOALS.items():
        ours = results.records.get((dataset, OURS))
        reached = results.mean(dataset, OURS)
        rows.append(
            [
                SETS[dataset],
                f"{goal:.1f}",
                "–" if reached is None else f"{reached:.1f}" + (" (missed)" if reached < goal else ""),
                "–" if ours is None else _test_error(ours),
                _best(results, dataset, [model for model in MODELS if model != OURS], HEADLINE),
                _best(results, dataset, MODELS, "average_curve"),
            ]
        )
    header = [
        "%",
        "goal",
        "`stable`",
        "one standard error",
        "best other model here",
        "best of all under `average_curve`",
    ]
    return markdown(header, rows)


def _test_error(record: Record) -> str:
    """``sqrt(p (1 - p) / n)`` in points, ``n`` the graphs or nodes ever tested on; a dash for other metrics.

    Seeds share their test part, which counts once.
    """
    if record.info.metric != "accuracy":
        return "–"
    tested = sum({result.key.fold: result.curves.sizes[2] for result in record.run.results}.values())
    p = record.rules[HEADLINE].mean
    return f"{100 * math.sqrt(p * (1 - p) / tested):.1f}"


def _best(results: Results, dataset: str, models: Iterable[str], rule: str) -> str:
    """The highest mean of these models under a rule, with the model's name."""
    means = [(value, MODELS[model]) for model in models if (value := results.mean(dataset, model, rule)) is not None]
    if not means:
        return "–"
    value, model = max(means)
    return f"{value:.1f} ({model})"
