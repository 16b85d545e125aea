from __future__ import annotations

import pytest

from mshgnn.errors import UserError
from mshgnn.report.markdown import fill_tables, markdown

TABLES = {"sums": lambda: markdown(["a", "b"], [["1", "2"]])}
MADE = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


@pytest.mark.parametrize("old", ["old\n", ""])
def test_only_marked_blocks_change(old: str) -> None:
    text = f"before\n<!-- table: sums -->\n{old}<!-- end -->\nafter"
    new = fill_tables(text, TABLES)
    assert new == f"before\n<!-- table: sums -->\n{MADE}<!-- end -->\nafter"
    assert fill_tables(new, TABLES) == new


def test_a_block_without_end_is_refused() -> None:
    with pytest.raises(UserError, match="no <!-- end -->"):
        fill_tables("<!-- table: sums -->\n| old |\n", TABLES)


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(UserError, match="no table 'smus'; did you mean 'sums'"):
        fill_tables("<!-- table: smus -->\n<!-- end -->", TABLES)


def test_a_table_without_rows_says_so() -> None:
    assert markdown(["test, %", "mean"], []) == "*No record yet.*"
    assert markdown(["test, %", "mean"], [["MUTAG", "84.6"]]).endswith("| --- | --- |\n| MUTAG | 84.6 |")
