"""Printed figures stand with their rule beside ours under the same one."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Literal

import pytest

from mshgnn.evaluation.rules import RULES
from mshgnn.models import MODELS
from mshgnn.models.controls import CONTROLS
from mshgnn.reproduction.printed import graph_printed, node_printed
from mshgnn.reproduction.published import rules_behind
from mshgnn.reproduction.results import Results
from support.runs import make_record


def rows(table: str) -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {first: rest for first, *rest in cells}


def test_brackets_hold_our_figure_under_the_rule_of_the_printed_one() -> None:
    models = ("gin", "dgcnn", "n2", "msh-released")
    records = {("PROTEINS", model): make_record("PROTEINS", model, 0.25) for model in models}  # 0.5, then 0.25
    found = rows(graph_printed(Results(records, {}, {}, {})))
    assert found["GIN"][3] == "76.2 ± 2.8 (50.0)"
    assert found["DGCNN"][3] == "75.5 ± 0.9 (25.0)"
    assert found["N2"][3] == "77.5 ± 1.8", "its rule is not known"
    assert found["GIN"][1] == "89.4 ± 5.6"
    assert found["MSH-GNN"][3] == "94.1 ± 3.3 (50.0 (old form))"


def test_what_is_not_printed_is_a_dash_and_out_of_memory_is_said() -> None:
    found = rows(node_printed(Results({}, {}, {}, {})))
    assert found["APPNP"][4] == "–"
    assert found["GraphGPS"][1:] == ["95.06 ± 0.13", "OOM", "OOM", "92.29 ± 0.61"]


@pytest.mark.parametrize("table", ["graph", "node"])
def test_every_printed_method_has_its_rule_and_its_model(table: Literal["graph", "node"]) -> None:
    with (files("mshgnn.reproduction") / "published" / f"{table}_classification.csv").open(encoding="utf-8") as lines:
        printed = list(dict.fromkeys(row["method"] for row in csv.DictReader(lines)))
    behind = rules_behind(table)
    assert [one.method for one in behind] == printed
    assert {one.rule for one in behind} <= {*RULES, ""}
    assert {one.model for one in behind} <= {*MODELS, *CONTROLS}
