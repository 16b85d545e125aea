"""What others print for their models beside what these reach here, by the rule of the printed figure."""

from __future__ import annotations

from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import SETS
from mshgnn.reproduction.published import figure, rows
from mshgnn.reproduction.results import Results, cell, runs


def authors(results: Results) -> str:
    """One row per model and data set for which a figure and its rule are known; a dash where nothing was run here.

    A model that was not run in full shows its first fold.
    """
    found = results.first_folds | results.records
    table = []
    for row in rows("authors.csv"):
        dataset, model, rule = row["dataset"], row["model"], row["rule"]
        record = found.get((dataset, model))
        table.append(
            [
                f"{row['method']}, {SETS[dataset]}",
                f"`{rule}`",
                str(figure(row)),
                row["run_by"],
                cell(record, rule),
                "–" if record is None else runs(record),
            ]
        )
    return markdown(["test, %", "rule", "printed", "run by", "here", "runs here"], table)
