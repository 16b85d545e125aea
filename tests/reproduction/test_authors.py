from __future__ import annotations

from mshgnn.evaluation.rules import RULES
from mshgnn.models import MODELS
from mshgnn.reproduction.authors import authors
from mshgnn.reproduction.layout import GRAPH_SETS
from mshgnn.reproduction.published import rows
from mshgnn.reproduction.results import Results
from support.runs import make_record


def table(*records: tuple[str, str, float]) -> dict[str, list[str]]:
    found = {(dataset, model): make_record(dataset, model, value) for dataset, model, value in records}
    lines = authors(Results(found, {}, {}, {})).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_a_model_is_shown_by_the_rule_of_its_printed_figure() -> None:
    """The test curve is 50, then 25: the last epoch is the worse, and those before choose on validation or on test."""
    found = table(("MUTAG", "dgcnn", 0.25), ("MUTAG", "gmt", 0.25), ("MUTAG", "cin", 0.25))
    assert found["DGCNN, MUTAG"] == ["`last_epoch`", "85.8 ± 1.7", "its authors", "25.0", "1 fold"]
    assert found["GMT, MUTAG"] == ["`best_validation`", "83.4 ± 1.3", "its authors", "50.0", "1 fold"]
    assert found["CIN, MUTAG"] == ["`average_curve`", "92.7 ± 6.1", "its authors", "50.0", "1 fold"]


def test_a_model_that_was_not_run_in_full_shows_its_first_fold() -> None:
    first = {("AmazonPhoto", "specformer"): make_record("AmazonPhoto", "specformer", 0.75)}
    assert "| 75.0 | 1 fold |" in authors(Results({}, {}, {}, {}, first_folds=first))
    whole = {("AmazonPhoto", "specformer"): make_record("AmazonPhoto", "specformer", 0.875)}
    assert "| 87.5 | 1 fold |" in authors(Results(whole, {}, {}, {}, first_folds=first))


def test_what_was_not_run_is_a_dash() -> None:
    found = table(("AmazonPhoto", "appnp", 0.75))
    assert found["APPNP, Photo"][-2:] == ["75.0", "1 fold"]
    assert {tuple(row[-2:]) for name, row in found.items() if name != "APPNP, Photo"} == {("–", "–")}


def test_every_row_is_of_a_model_a_task_of_its_and_a_rule() -> None:
    listed = rows("authors.csv")
    assert len({(row["model"], row["dataset"]) for row in listed}) == len(listed) == len(table())
    for row in listed:
        assert row["rule"] in RULES
        assert ("graph" if row["dataset"] in GRAPH_SETS else "node") in MODELS[row["model"]].tasks
