"""What is learned by heart: accuracy on all graphs, training graphs included, the rule behind the paper's numbers."""

from __future__ import annotations

from mshgnn.records.record import Record
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import GRAPH_SETS
from mshgnn.reproduction.published import paper_figures
from mshgnn.reproduction.results import Results, cell, runs

RULE = "whole_set_best"


def capacity(results: Results) -> str:
    """What a long run of `stable` without regularisation memorises, beside a table of 1-WL colours."""
    rows = [
        [
            f"{title} ({runs(record)})",
            _trained(record),
            cell(record, RULE),
            cell(results.capacity.get((dataset, "wl-lookup")), RULE),
            str(paper_figures()[dataset]),
        ]
        for dataset, title in GRAPH_SETS.items()
        if (record := results.capacity.get((dataset, "msh-stable"))) is not None
    ]
    return markdown(["%", "training graphs", "all graphs", "1-WL lookup table", "paper prints"], rows)


def as_released(results: Results) -> str:
    """What `released` reaches when it is run as its authors did: on all graphs, and on those it has not seen."""
    rows = [
        [
            f"{title} ({runs(record)})",
            _trained(record),
            cell(record, RULE),
            cell(record, "last_epoch"),
            cell(record, "best_test_per_fold"),
            str(paper_figures()[dataset]),
        ]
        for dataset, title in GRAPH_SETS.items()
        if (record := results.capacity.get((dataset, "msh-released"))) is not None
    ]
    unseen = ("unseen graphs, last epoch", "unseen graphs, best epoch on them")
    return markdown(["%", "training graphs", "all graphs", *unseen, "paper prints"], rows)


def _trained(record: Record) -> str:
    """The best accuracy on the training graphs, mean of the folds."""
    folds = record.run.results
    return f"{100 * sum(fold.curves.train_metric.max() for fold in folds) / len(folds):.1f}"
