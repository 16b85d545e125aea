"""How much the options of the graph sets owe to test labels, from the records of their trials."""

from __future__ import annotations

import numpy as np

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.evaluation.selection import Choices, Values, compare_choices
from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import GRAPH_SETS
from mshgnn.reproduction.results import Results
from mshgnn.reproduction.trials import TRIAL_QUESTIONS

TEN_FOLDS = [FoldKey(0, fold) for fold in range(10)]
REUSE = "validation-reuse"
"""The measurement with ``[test graphs that validate another fold, all test graphs]`` of every set."""


def selection_bias(results: Results) -> str:
    """Every graph set: options tried on all ten folds, and the test metric of the best by both ways of choosing."""
    reuse = results.measurements.get(REUSE, {})
    rows = []
    for dataset, title in GRAPH_SETS.items():
        options = tried(results, dataset)
        shared = "{:,} of {:,}".format(*reuse[dataset]) if dataset in reuse else "–"
        rows.append([title, shared, str(len(options)), *_cells(options)])
    header = ["test, %", "test graphs that validate another fold", "options on ten folds"]
    return markdown([*header, "chosen over all folds", "chosen in each fold", "difference"], rows)


def tried(results: Results, dataset: str) -> list[Record]:
    """The trials of a set on its ten folds; one that answered several questions counts once."""
    found: list[Record] = []
    for record in (record for question in TRIAL_QUESTIONS for record in results.trials.get(question, [])):
        given = (record.info.dataset, record.info.metric, [result.key for result in record.run.results])
        if given == (dataset, "accuracy", TEN_FOLDS) and not any(_same(record, other) for other in found):
            found.append(record)
    if len({record.info.splits_checksum for record in found}) > 1:
        raise ValueError(f"{dataset}: its trials have several splits, and their folds cannot be compared")
    return found


def _same(one: Record, other: Record) -> bool:
    return all(mine.curves == yours.curves for mine, yours in zip(one.run.results, other.run.results, strict=True))


def _cells(options: list[Record]) -> list[str]:
    """What both choices report, and the difference with its standard error; dashes where there is nothing to choose."""
    if len(options) < 2:
        return ["–"] * 3
    found = _choices(options)
    points = 100 * found.difference
    means = [f"{100 * values.mean():.1f}" for values in found]
    return [*means, f"{round(points, 1) + 0.0:+.1f} ± {100 * found.standard_error:.1f}"]  # no -0.0


def _choices(options: list[Record]) -> Choices:
    return compare_choices(
        np.array([_validation(record) for record in options]),
        np.array([record.rules[HEADLINE].per_fold for record in options]),
    )


def _validation(record: Record) -> Values:
    """The validation accuracy of every fold at the epoch of the headline rule.

    It is a share of a count of graphs, so that the digits a record leaves out come back: ties stay ties.
    """
    found = []
    for result, epoch in zip(record.run.results, record.rules[HEADLINE].epochs, strict=True):
        graphs = result.curves.sizes[1]
        found.append(round(result.curves.validation_metric[epoch] * graphs) / graphs)
    return np.array(found)
