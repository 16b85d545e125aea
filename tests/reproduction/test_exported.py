"""Training from exported tables stands beside the lab on the same parts."""

from __future__ import annotations

from mshgnn.reproduction.exported import exported
from mshgnn.reproduction.results import Results
from support.runs import make_record


def metrics(metric: str, *values: float) -> dict[str, object]:
    return {"metric": metric, "per_fold": list(values)}


def test_rows_have_the_labs_figure_on_the_same_parts() -> None:
    tolokers = {("Tolokers", "msh-stable"): make_record("Tolokers", "msh-stable", 0.84)}
    photo = {("AmazonPhoto", "msh-stable"): make_record("AmazonPhoto", "msh-stable", 0.965)}
    found = {
        "exported/Tolokers/metrics": metrics("roc_auc", 0.85),
        "exported/AmazonPhoto/metrics": metrics("accuracy", 0.9625),
        "exported/AmazonComputers/metrics": metrics("accuracy", 0.93),
        "bench": {"rows": []},
    }
    rows = exported(Results(photo, {}, {}, found, {"heterophily": tolokers})).splitlines()[2:]
    assert rows == [
        "| Computers | accuracy | 1 | – | 93.00 | – |",
        "| Photo | accuracy | 1 | 96.50 | 96.25 | -0.25 |",
        "| Tolokers | ROC-AUC | 1 | 84.00 | 85.00 | +1.00 |",
    ]


def test_more_splits_than_the_lab_had_are_not_compared() -> None:
    photo = {("AmazonPhoto", "msh-stable"): make_record("AmazonPhoto", "msh-stable", 0.965)}
    found = {"exported/AmazonPhoto/metrics": metrics("accuracy", 0.96, 0.97)}
    assert exported(Results(photo, {}, {}, found)).splitlines()[2:] == ["| Photo | accuracy | 2 | – | 96.50 | – |"]
