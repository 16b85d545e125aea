"""How much of the noise in a figure is training, and how much the few graphs that it was tested on."""

from __future__ import annotations

from mshgnn.evaluation.rules import HEADLINE
from mshgnn.evaluation.variance import split_noise
from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import GRAPH_SETS, MODELS
from mshgnn.reproduction.results import Results, by_seed_and_fold


def graph_noise(results: Results) -> str:
    """A row per set and model that was run with several seeds on several folds."""
    rows = []
    for dataset, title in GRAPH_SETS.items():
        for model, name in MODELS.items():
            record = results.records.get((dataset, model))
            if record is None:
                continue
            values = 100 * by_seed_and_fold(record, record.rules[HEADLINE].per_fold)
            if min(values.shape) > 1:
                found = split_noise(values)
                parts = (found.training, found.items, found.training_error, found.items_error)
                rows.append([f"{title}, {name}", f"{values.mean():.1f}", *(f"{part:.1f}" for part in parts)])
    header = ["test, %", "mean", "seeds of a fold", "folds", "error by training", "error by graphs"]
    return markdown(header, rows)
