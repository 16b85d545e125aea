"""A dash says why: a reason that is written down, or hours above the budget."""

from __future__ import annotations

from dataclasses import replace

from mshgnn.records.record import Record
from mshgnn.reproduction.results import Results
from mshgnn.reproduction.tables import TABLES
from support.runs import make_record


def took(dataset: str, model: str, hours: float) -> Record:
    record = make_record(dataset, model, 0.8)
    (fold,) = record.run.results
    return replace(record, run=replace(record.run, results=(replace(fold, seconds=3600 * hours),)))


def test_a_dash_says_why() -> None:
    cells = [("MUTAG", "gcn", 1.0), ("PTC", "gcn", 1.0), ("NCI1", "gcn", 2.0), ("COLLAB", "gcn", 3.0)]
    records = {(dataset, model): took(dataset, model, hours) for dataset, model, hours in cells}
    records["MUTAG", "cin"] = took("MUTAG", "cin", 2.5)
    first = {("PTC", "cin"): took("PTC", "cin", 1.5)}
    reasons = {"not-run": {"COLLAB/c?n": "memory"}}
    table = TABLES["graph-models"](Results(records, {}, {}, reasons, first_folds=first))
    (cin,) = (row for row in table.splitlines() if row.startswith("| CIN"))
    # NCI1 takes GCN twice as long as the others: 2 (1.5 + 2.5) / 2 hours, all that is allowed. PTC was measured.
    mutag, ptc, _, nci1, *_, collab = cin.strip("| ").split(" | ")[1:]
    assert (mutag, ptc, nci1, collab) == ("**80.0**", "–", "–", "– (memory)")
    slower = {**first, ("PTC", "cin"): took("PTC", "cin", 4.5)}
    table = TABLES["graph-models"](Results(records, {}, {}, reasons, first_folds=slower))
    (cin,) = (row for row in table.splitlines() if row.startswith("| CIN"))
    _, ptc, _, nci1, *_ = cin.strip("| ").split(" | ")[1:]
    assert (ptc, nci1) == ("– (4 h)", "– (7 h)")
