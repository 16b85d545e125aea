"""Runs of the lab and their records as contents of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mshgnn.evaluation.rules import HEADLINE, RuleResult
from mshgnn.records.run import FoldResult, Run
from mshgnn.report.page.contents import FoldCurves, Measured, Subject
from mshgnn.training.curves import CURVE_NAMES

RULE = "The epoch is the one that is best on validation; test parts chose nothing."
LAST = "There is no validation part, so no epoch was chosen: the figure is that of the last one."


def subject_of_run(run: Run, rules: Mapping[str, RuleResult], label: str = "") -> Subject:
    """A run with its rules; ``label`` is what its model is called beside others, its own name by default."""
    info = run.info
    chosen = rules.get(HEADLINE) or rules["last_epoch"]
    missing = len(info.keys) - len(run.results)
    keys = [list(result.key) for result in run.results]
    return Subject(
        name=label or info.model,
        source="run",
        model=info.model,
        dataset=info.dataset,
        task=info.task,
        metric_name=info.metric,
        headline=Measured(info.model, chosen.per_fold),
        rule=RULE if chosen.rule == HEADLINE else LAST,
        folds=tuple(
            _fold(result, epoch, chosen.rule) for result, epoch in zip(run.results, chosen.epochs, strict=True)
        ),
        rules=rules,
        pairing=json.dumps([info.dataset_checksum, info.splits_checksum, keys]),
        facts=_facts(run),
        config=json.dumps(info.experiment, indent=1),
        notes=(f"{missing} of {len(info.keys)} folds are not finished yet.",) if missing else (),
    )


def distinct(subjects: Sequence[Subject]) -> list[Subject]:
    """The same subjects with names that tell them apart: the data set is added where there are several."""
    several = len({subject.dataset for subject in subjects}) > 1
    names: list[str] = []
    for subject in subjects:
        name = f"{subject.name} on {subject.dataset}" if several else subject.name
        count = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({count + 1})" if count else name)
    return [replace(subject, name=name) for subject, name in zip(subjects, names, strict=True)]


def _fold(result: FoldResult, epoch: int, rule: str) -> FoldCurves:
    curves = result.curves
    shown = [name for name in CURVE_NAMES if not (name.startswith("validation") and curves.sizes[1] == 0)]
    series = {name: tuple(getattr(curves, name).tolist()) for name in shown}
    return FoldCurves(str(result.key), series, epoch if rule == HEADLINE else None)


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    info, results = run.info, run.results
    sizes = "/".join(f"{size:,}" for size in results[0].curves.sizes)
    epochs = [result.curves.epochs for result in results]
    return (
        ("model", info.model),
        ("data set", f"{info.dataset} (checksum {info.dataset_checksum[:12]})"),
        ("splits", f"{info.splits_name} (checksum {info.splits_checksum[:12]}), train/validation/test {sizes}"),
        ("seeds", ", ".join(map(str, info.seeds))),
        ("folds", f"{len(results)} of {len(info.keys)}"),
        ("epochs", f"{min(epochs)} to {max(epochs)}"),
        ("parameters", f"{results[0].parameters:,}"),
        ("training time", f"{sum(result.seconds for result in results):,.0f} s"),
        ("largest memory", f"{max(result.peak_memory_mb for result in results):,.0f} MB"),
        *((name, str(value)) for name, value in info.environment.items()),
    )
