"""What `stable` was aimed at, what it reached, and how much of the distance chance alone could be."""

from __future__ import annotations

import math

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.lab.record import Record
from mshgnn.report.layout import MODELS, SETS, markdown
from mshgnn.report.results import Results

OURS = "msh-stable"

GOALS = {
    "MUTAG": 88.0,
    "PTC": 64.0,
    "PROTEINS": 75.8,
    "NCI1": 82.0,
    "IMDB-BINARY": 73.3,
    "IMDB-MULTI": 50.5,
    "REDDIT-BINARY": 91.0,
    "COLLAB": 78.9,
    "AmazonPhoto": 96.8,
    "AmazonComputers": 94.1,
    "CoauthorPhysics": 97.5,
    "Minesweeper": 97.9,
    "structure-frequency-fixed": 90.0,
    "structure-frequency-varied": 80.0,
    "structure-frequency-wellposed": 72.0,
}
"""Set before the runs, in percent under ``best_validation``; most are the best figure found in print that was
chosen on validation."""


def goals(results: Results) -> str:
    """Every goal beside what was reached, the standard error of the test parts, and the best other model run here."""
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
                _best_other(results, dataset),
            ]
        )
    return markdown(["%", "goal", "`stable`", "one standard error", "best other model here"], rows)


def _test_error(record: Record) -> str:
    """``sqrt(p (1 - p) / n)`` in points, ``n`` the graphs or nodes ever tested on; a dash for other metrics.

    Seeds share their test part, which counts once.
    """
    if record.run.info.metric != "accuracy":
        return "–"
    tested = sum({result.key.fold: result.curves.sizes[2] for result in record.run.results}.values())
    p = record.rules[HEADLINE].mean
    return f"{100 * math.sqrt(p * (1 - p) / tested):.1f}"


def _best_other(results: Results, dataset: str) -> str:
    """The highest mean of any other model in the tables, with its name."""
    others = [
        (value, MODELS[model])
        for (name, model) in results.records
        if name == dataset and model != OURS and model in MODELS and (value := results.mean(dataset, model)) is not None
    ]
    if not others:
        return "–"
    value, model = max(others)
    return f"{value:.1f} ({model})"
