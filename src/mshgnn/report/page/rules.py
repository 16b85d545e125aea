"""The same run under every rule that picks an epoch: how much each would flatter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mshgnn.evaluation.rules import HEADLINE, RuleResult
from mshgnn.report.page.charts import Ranges, Row
from mshgnn.report.page.contents import Subject, spread_text
from mshgnn.report.page.section import Block, Figure, Missing, Part, Section, Table, Text, for_each

FEW = 3
"""More subjects than these share one table."""
WORDS = {
    "best_validation": "best on validation",
    "last_epoch": "last epoch",
    "average_curve": "best mean test curve",
    "best_test_per_fold": "best test epoch per fold",
    "whole_set_best": "best on all data at once",
}


def section(subjects: Sequence[Subject]) -> Section | Missing:
    """A row for each rule; hollow rings looked at the test part."""
    lead = (
        "The same training looks better when the test part helps to pick the epoch. Only rules that never look at it "
        "may be reported."
    )
    if len(subjects) <= FEW:
        return for_each("rules", "Rules side by side", lead, subjects, _blocks)
    first = for_each("rules", "Rules side by side", lead, subjects[:1], _blocks)
    parts = list(first.parts) if isinstance(first, Section) else []
    return Section("rules", "Rules side by side", lead, [*parts, Part([_all(subjects)])])


def _all(subjects: Sequence[Subject]) -> Table:
    """Subjects as rows, rules as columns."""
    names = list(dict.fromkeys(name for subject in subjects for name in subject.rules))
    rows = []
    for subject in subjects:
        results = [subject.rules.get(name) for name in names]
        rows.append([subject.name, *("–" if result is None else _text(result, subject) for result in results)])
    return Table("All under every rule", ["", *(WORDS.get(name, name) for name in names)], rows)


def _blocks(number: int, subject: Subject) -> list[Block] | str:
    if not subject.rules:
        return "the test curves of this training were not kept"
    metric = subject.metric
    basis = subject.rules.get(HEADLINE) or next(iter(subject.rules.values()))
    rows = [_row(result, subject, number) for result in subject.rules.values()]
    chart = Ranges(
        "Test metric by rule",
        "; ".join(f"{row.label} {row.text}" for row in rows),
        rows,
        f"test {metric.words}",
        x_share=metric.is_share,
        zero=basis.mean if math.isfinite(basis.mean) else None,
    )
    caption = f"{_flattery(subject, basis)} Hollow rings chose their epoch on the test part. ± is {basis.spread}."
    table = Table(
        "The rules in figures",
        ["rule", f"test {metric.words}", "flatters by", "looks at test"],
        [_cells(result, subject, basis) for result in subject.rules.values()],
        folded=True,
    )
    blocks: list[Block] = [Figure(chart, caption, wide=True), table]
    if HEADLINE not in subject.rules:
        blocks.append(
            Text("There is no validation part: nothing could choose an epoch, the last one counts.", note=True)
        )
    if subject.rules_unit:
        blocks.append(Text(subject.rules_unit, note=True))
    return blocks


def _row(result: RuleResult, subject: Subject, colour: int) -> Row:
    known = math.isfinite(result.std) and len(result.per_fold) > 1
    low, high = (result.mean - result.std, result.mean + result.std) if known else (None, None)
    label = WORDS.get(result.rule, result.rule.replace("_", " "))
    return Row(label, result.mean, _text(result, subject), low, high, (), colour % 8, result.selects_on_test)


def _text(result: RuleResult, subject: Subject) -> str:
    text = subject.metric.as_text(result.mean)
    return f"{text} ± {spread_text(result.mean, result.std, subject.metric)}" if len(result.per_fold) > 1 else text


def _gain(result: RuleResult, subject: Subject, basis: RuleResult) -> float:
    return (result.mean - basis.mean) * (1 if subject.metric.higher_is_better else -1)


def _flattery(subject: Subject, basis: RuleResult) -> str:
    """How much the kindest rule gives away."""
    kindest = max(subject.rules.values(), key=lambda result: _known(_gain(result, subject, basis)))
    gain = _gain(kindest, subject, basis)
    if not math.isfinite(gain) or gain <= 0:
        return "No rule would flatter this run."
    label = WORDS.get(kindest.rule, kindest.rule)
    return f"The rule “{label}” would flatter this run by {_points(gain, subject)}."


def _known(value: float) -> float:
    return value if math.isfinite(value) else -math.inf


def _points(gain: float, subject: Subject) -> str:
    return f"{100 * gain:.2f} points" if subject.metric.is_share else subject.metric.as_text(gain)


def _cells(result: RuleResult, subject: Subject, basis: RuleResult) -> list[str]:
    gain = _gain(result, subject, basis)
    flatters = "–" if result is basis or not math.isfinite(gain) else _points(gain, subject)
    label = WORDS.get(result.rule, result.rule)
    return [label, _text(result, subject), flatters, "yes" if result.selects_on_test else "no"]
