"""What was tried, on validation alone."""

from __future__ import annotations

from statistics import mean

import numpy as np

from mshgnn.evaluation.rules import extended
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import SETS
from mshgnn.reproduction.results import Results, runs

TRIAL_QUESTIONS = (
    "options",
    "hubs",
    "head",
    "dropout",
    "recipe",
    "depth",
    "projections",
    "relative",
    "centered",
    "joint",
    "phase",
    "factored",
)
"""What trials were run for: single options of ``stable``, sets with hubs, layers of the head, dropout on small sets,
epochs, depth, width and aggregation on graph sets, depth on node sets, projections with their frequencies and
conditioning, phases of differences, messages without the mean of their cosines, the joint task within its parameter
budget, how receivers condition phases, what the factored layer needs."""


def trials(results: Results, question: str) -> str:
    """Trials of one question by change (the experiment's ``about``) and data set: ``metric (loss)``, on validation.

    The metric is the best of each fold, averaged. The loss is that of all folds together, at its best epoch.
    """
    found: dict[str, dict[str, str]] = {}
    for record in results.trials.get(question, []):
        folds = [fold.curves for fold in record.run.results]
        best = mean(float(fold.validation_metric.max()) for fold in folds)
        longest = max(fold.epochs for fold in folds)
        losses = sum(extended(fold.validation_loss, longest) for fold in folds) / len(folds)
        column = f"{SETS[record.info.dataset]} ({runs(record)})"
        found.setdefault(record.info.about, {})[column] = f"{100 * best:.1f} ({np.min(losses):.3f})"
    columns = list(dict.fromkeys(column for row in found.values() for column in row))
    rows = [[change, *(values.get(column, "–") for column in columns)] for change, values in found.items()]
    return markdown(["best validation, % (lowest loss)", *columns], rows)
