"""The tables of where a message pays: figures of the records, times over GCN's."""

from __future__ import annotations

from dataclasses import replace

from mshgnn.reproduction.results import Results
from mshgnn.reproduction.worth import worth
from support.runs import make_record


def test_a_row_has_figure_and_time_over_gcn_for_every_set() -> None:
    gcn, pna = make_record("MUTAG", "gcn", 0.5), make_record("MUTAG", "pna", 0.75)
    slow = replace(pna, run=replace(pna.run, results=tuple(replace(fold, seconds=4.0) for fold in pna.run.results)))
    quick = replace(gcn, run=replace(gcn.run, results=tuple(replace(fold, seconds=2.0) for fold in gcn.run.results)))
    found = {("MUTAG", "gcn"): quick, ("MUTAG", "pna"): slow, ("PTC", "pna"): slow}
    rows = worth(Results({}, {}, {}, {}, {"attributes": found}), "attributes").splitlines()
    assert rows[0] == (
        "| test | MUTAG: accuracy (1 fold) | time over GCN's | PTC: accuracy (1 fold) | time over GCN's |"
    )
    assert rows[2] == "| GCN | 50.0 ± 0.0 | 1.00 | – | – |"
    assert rows[3] == "| PNA | 75.0 ± 0.0 | 2.00 | 75.0 ± 0.0 | – |"


def test_a_suite_without_records_is_an_empty_table() -> None:
    assert worth(Results({}, {}, {}, {}), "neighbours").splitlines()[2:] == []
