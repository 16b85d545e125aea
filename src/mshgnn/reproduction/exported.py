"""Sets of nodes that were exported to tables and trained from them as a user's own, beside the lab's figures."""

from __future__ import annotations

import numpy as np

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import OURS, SETS
from mshgnn.reproduction.results import Results
from mshgnn.training.metrics import KNOWN_METRICS

FOLDER = "exported"
LAB_SUITES = {"Tolokers": "heterophily"}
"""Whose records hold a set's figures in the lab, where it is not in the tables of models."""


def exported(results: Results) -> str:
    """Every exported set: the lab on the parts that ``mshgnn train`` was given, ``mshgnn train``, the difference."""
    rows = []
    for path, metrics in sorted(results.measurements.items()):
        if not path.startswith(f"{FOLDER}/"):
            continue
        name = path.split("/")[1]
        trained = 100 * np.array(metrics["per_fold"])
        lab = _lab(results, name, len(trained))
        cells = [KNOWN_METRICS[metrics["metric"]].words, str(len(trained))]
        if lab is None:
            rows.append([SETS.get(name, name), *cells, "–", f"{trained.mean():.2f}", "–"])
        else:
            gap = trained - lab
            rows.append(
                [SETS.get(name, name), *cells, f"{lab.mean():.2f}", f"{trained.mean():.2f}", f"{gap.mean():+.2f}"]
            )
    return markdown(["test, %", "metric", "splits", "lab", "`mshgnn train` from tables", "difference"], rows)


def _lab(results: Results, name: str, folds: int) -> np.ndarray | None:
    """The lab's figures on the first ``folds`` splits, in percent, each the mean over the seeds it was run with."""
    suite = results.worth.get(LAB_SUITES[name], {}) if name in LAB_SUITES else results.records
    record: Record | None = suite.get((name, OURS))
    if record is None:
        return None
    by_fold: dict[int, list[float]] = {}
    for result, value in zip(record.run.results, record.rules[HEADLINE].per_fold, strict=True):
        by_fold.setdefault(result.key.fold, []).append(100 * value)
    return np.array([np.mean(by_fold[fold]) for fold in range(folds)]) if len(by_fold) >= folds else None
