"""Goals are shown as they are: reached or missed."""

from __future__ import annotations

from dataclasses import replace

from mshgnn.records.record import Record
from mshgnn.records.run import FoldKey
from mshgnn.reproduction.goals import GOALS, goals
from mshgnn.reproduction.results import Results
from support.runs import make_record


def of_many(record: Record, keys: list[FoldKey], tested: int) -> Record:
    """The same curves for every fold, each tested on so many graphs."""
    (result,) = record.run.results
    larger = replace(result, curves=replace(result.curves, sizes=(8, 1, tested)))
    return replace(record, run=replace(record.run, results=tuple(replace(larger, key=key) for key in keys)))


def with_metric(record: Record, metric: str) -> Record:
    return replace(record, run=replace(record.run, info=replace(record.info, metric=metric)))


def rows(records: dict[tuple[str, str], Record]) -> dict[str, str]:
    table = goals(Results(records, {}, {}, {})).splitlines()[2:]
    assert len(table) == len(GOALS)
    return {row.split(" | ")[0].removeprefix("| "): row for row in table}


def test_a_goal_is_met_missed_or_not_tried() -> None:
    ours = {name: with_metric(make_record(name, "msh-stable", 0.84), "accuracy") for name in ("NCI1", "PROTEINS")}
    shown = rows({(name, "msh-stable"): record for name, record in ours.items()})
    assert "| 84.0 | 84.0 |" in shown["NCI1"]
    assert "| 75.8 | 84.0 |" in shown["PROTEINS"]
    assert shown["PTC"] == "| PTC | 63.0 | – | – | – | – |"
    missed = with_metric(make_record("PTC", "msh-stable", 0.6), "accuracy")
    assert "| 63.0 | 60.0 (missed) |" in rows({("PTC", "msh-stable"): missed})["PTC"]


def test_the_error_counts_every_graph_once() -> None:
    record = with_metric(make_record("MUTAG", "msh-stable", 0.8), "accuracy")
    folds = of_many(record, [FoldKey(seed, fold) for seed in range(5) for fold in range(4)], tested=100)
    # 400 graphs, each tested by five seeds: sqrt(0.8 * 0.2 / 400) = 0.02
    assert "| 80.0 (missed) | 2.0 | – |" in rows({("MUTAG", "msh-stable"): folds})["MUTAG"]


def test_roc_auc_has_no_such_error() -> None:
    record = with_metric(make_record("Minesweeper", "msh-stable", 0.99), "roc_auc")
    assert "| 98.3 | 99.0 | – |" in rows({("Minesweeper", "msh-stable"): record})["Minesweeper"]


def test_the_best_other_is_named_and_recipes_of_others_are_not_others() -> None:
    means = {"msh-stable": 0.9, "gcn": 0.75, "gat": 0.875, "gat-tuned": 0.95}
    records = {
        ("AmazonPhoto", model): with_metric(make_record("AmazonPhoto", model, mean), "accuracy")
        for model, mean in means.items()
    }
    assert rows(records)["Photo"].endswith("| 87.5 (GAT) | 90.0 (**MSH-GNN `stable`**) |")


def test_the_last_column_lets_every_model_choose_on_test() -> None:
    records = {("MUTAG", "msh-stable"): with_metric(make_record("MUTAG", "msh-stable", 0.9), "accuracy")}
    gin = make_record("MUTAG", "gin", 0.8)
    chosen_on_test = replace(gin.rules["average_curve"], mean=0.95)
    records["MUTAG", "gin"] = replace(gin, stored={**gin.rules, "average_curve": chosen_on_test})
    assert rows(records)["MUTAG"].endswith("| 80.0 (GIN) | 95.0 (GIN) |")
