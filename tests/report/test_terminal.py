from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from mshgnn.evaluation.rules import HEADLINE, RULES
from mshgnn.report.terminal import rules_table, side_by_side, value
from support.runs import make_run


def shown(table: Table) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_a_validation_part_there_is_no_headline() -> None:
    run, other = make_run(sizes=(3000, 0, 411)), make_run()
    assert list(run.rules) == [name for name in RULES if name != HEADLINE]
    assert HEADLINE not in shown(rules_table(run, run.rules))
    both = shown(side_by_side([("a", other, other.rules), ("b", run, run.rules)]))
    line = next(line for line in both.splitlines() if HEADLINE in line)
    assert "±" in line
    assert line.rstrip(" │").endswith("–")


def test_tables_say_what_plus_minus_is_over_and_mark_what_selects_on_test() -> None:
    run, seeds = make_run(), make_run(seeds=(0, 1))
    alone = shown(rules_table(run, run.rules))
    assert "± over 3 folds" in alone
    lines = {line.split("│")[1].strip(): line for line in alone.splitlines() if "│" in line}
    assert value(run.rules["best_validation"], run) in lines["best_validation"]
    assert lines["best_validation"].rstrip(" │").endswith("no")
    assert lines["best_test_per_fold"].rstrip(" │").endswith("yes")
    both = shown(side_by_side([("b", run, run.rules), ("a", seeds, seeds.rules)]))
    assert "over 2 seeds of fold means" in both
    assert both.index(" b ") < both.index(" a "), "in the order given"
    assert "average_curve*" in both
    assert "best_validation*" not in both


def test_an_error_in_the_targets_unit_is_no_percentage() -> None:
    run = make_run(metric="rmse")
    table = shown(rules_table(run, run.rules))
    assert "test RMSE " in table
    assert "%" not in table
    assert f"{run.rules[HEADLINE].mean:.4g} ±" in table
