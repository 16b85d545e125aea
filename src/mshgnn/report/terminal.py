"""One run under every rule, and several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from mshgnn.evaluation.rules import HEADLINE, RULES, RuleResult
from mshgnn.records.run import Run

METRIC_WORDS = {"roc_auc": "ROC-AUC", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "mse": "MSE", "log10_mse": "log10 MSE"}
NOT_SHARES = ("rmse", "mae", "r2", "mse", "log10_mse")
"""Metrics in the unit of the target; all others are shares, shown in percent."""


def rules_table(run: Run, rules: Mapping[str, RuleResult]) -> Table:
    """One run: a row for each rule."""
    column = f"test {metric_words(run)}"
    table = Table("rule", column, "selects on test", title=title(run), caption=f"± {_spread(rules)}")
    for name, result in rules.items():
        style = "bold" if name == HEADLINE else "dim" if result.selects_on_test else ""
        table.add_row(name, value(result, run), "yes" if result.selects_on_test else "no", style=style)
    return table


def side_by_side(rows: Sequence[tuple[str, Run, Mapping[str, RuleResult]]]) -> Table:
    """Runs as columns in the order given, never ranked; rules that choose their epoch on test are marked."""
    table = Table(title="test metric", caption="* selects on test: optimistic, never ranked by")
    table.add_column("")
    for name, _, _ in rows:
        table.add_column(name, overflow="fold")
    runs = [run for _, run, _ in rows]
    table.add_row("data set", *(run.info.dataset for run in runs))
    table.add_row("model", *(run.info.model for run in runs))
    table.add_row("metric", *(metric_words(run) for run in runs), end_section=True)
    for rule in RULES:
        results = [rules.get(rule) for _, _, rules in rows]
        selects_on_test = any(result.selects_on_test for result in results if result is not None)
        style = "bold" if rule == HEADLINE else "dim" if selects_on_test else ""
        cells = ("–" if result is None else value(result, run) for result, run in zip(results, runs, strict=True))
        table.add_row(rule + ("*" if selects_on_test else ""), *cells, style=style)
    table.add_section()
    table.add_row("± is", *(_spread(rules) for _, _, rules in rows))
    table.add_row("splits", *(run.info.splits_name for run in runs))
    table.add_row("seeds", *(_seeds(run) for run in runs))
    table.add_row("folds", *(_folds(run) for run in runs))
    table.add_row("parameters", *(f"{run.results[0].parameters:,}" for run in runs))
    return table


def title(run: Run) -> str:
    """What a run is, in one line."""
    return (
        f"{run.info.model} on {run.info.dataset}: splits {run.info.splits_name}, "
        f"seeds {_seeds(run)}, folds {_folds(run)}, {run.results[0].parameters:,} parameters"
    )


def metric_words(run: Run) -> str:
    """The metric and its unit."""
    metric = run.info.metric
    words = METRIC_WORDS.get(metric, metric.replace("_", " "))
    return words if metric in NOT_SHARES else f"{words}, %"


def value(result: RuleResult, run: Run) -> str:
    """``mean ± std``, in percent where the metric is a share."""
    if run.info.metric in NOT_SHARES:
        return f"{result.mean:.4g} ± {result.std:.2g}"
    return f"{100 * result.mean:.2f} ± {100 * result.std:.2f}"


def _spread(rules: Mapping[str, RuleResult]) -> str:
    """What ± is over, the same for all rules of a run."""
    return next(iter(rules.values())).spread


def _seeds(run: Run) -> str:
    return ",".join(str(seed) for seed in run.info.seeds)


def _folds(run: Run) -> str:
    missing = len(run.info.keys) - len(run.results)
    return f"{len(run.results)}" + (f" ({missing} missing)" if missing else "")
