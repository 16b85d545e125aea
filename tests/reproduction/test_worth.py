"""The tables of where a message pays: figures of the records."""

from __future__ import annotations

from mshgnn.reproduction.results import Results
from mshgnn.reproduction.worth import worth
from support.runs import make_record


def test_a_row_has_the_figure_of_every_set() -> None:
    gcn, pna = make_record("MUTAG", "gcn", 0.5), make_record("MUTAG", "pna", 0.75)
    found = {("MUTAG", "gcn"): gcn, ("MUTAG", "pna"): pna, ("PTC", "pna"): pna}
    rows = worth(Results({}, {}, {}, {}, {"attributes": found}), "attributes").splitlines()
    assert rows[0] == "| test | MUTAG: accuracy (1 fold) | PTC: accuracy (1 fold) |"
    assert rows[2] == "| GCN | 50.0 ± 0.0 | – |"
    assert rows[3] == "| PNA | 75.0 ± 0.0 | 75.0 ± 0.0 |"


def test_a_suite_without_records_is_an_empty_table() -> None:
    assert worth(Results({}, {}, {}, {}), "neighbours").splitlines()[2:] == []
