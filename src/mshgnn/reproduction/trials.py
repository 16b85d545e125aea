"""What was tried, on validation alone."""

from __future__ import annotations

from statistics import mean

import numpy as np

from mshgnn.evaluation.rules import extended
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import SETS
from mshgnn.reproduction.results import Results, runs
from mshgnn.training.metrics import KNOWN_METRICS

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
    "default",
    "distribution",
)
"""What trials were run for: single options of ``stable``, sets with hubs, layers of the head, dropout on small sets,
epochs, depth, width and aggregation on graph sets, depth on node sets, projections with their frequencies and
conditioning, phases of differences, messages without the mean of their cosines, the joint task within its parameter
budget, how receivers condition phases, what the factored layer needs, one default for graphs and nodes, what reads a
distribution best."""


def trials(results: Results, question: str) -> str:
    """Trials of one question by change (the experiment's ``about``) and data set: ``metric (loss)``, on validation.

    The metric is the best of each fold, averaged. The loss is that of all folds together, at its best epoch; where the
    metric is no share, it stands alone.
    """
    found: dict[str, dict[str, str]] = {}
    shares = True
    for record in results.trials.get(question, []):
        folds = [fold.curves for fold in record.run.results]
        longest = max(fold.epochs for fold in folds)
        loss = np.min(sum(extended(fold.validation_loss, longest) for fold in folds) / len(folds))
        shares = KNOWN_METRICS[record.info.metric].is_share
        best = mean(float(fold.validation_metric.max()) for fold in folds)
        # A set with several cells, by depth say, has the name of the cell.
        title = SETS.get(record.info.dataset) or str(record.info.experiment["name"]).split("/")[-2]
        text = f"{100 * best:.1f} ({loss:.3f})" if shares else f"{loss:.4f}"
        found.setdefault(record.info.about, {})[f"{title} ({runs(record)})"] = text
    columns = list(dict.fromkeys(column for row in found.values() for column in row))
    rows = [[change, *(values.get(column, "–") for column in columns)] for change, values in found.items()]
    return markdown(["best validation, % (lowest loss)" if shares else "lowest validation loss", *columns], rows)
