"""Markdown tables, and pages that keep theirs between two marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from mshgnn.errors import UserError, did_you_mean

_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; one without rows says that nothing is recorded."""
    if not rows:
        return "*No record yet.*"
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def fill_tables(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """``text`` with every block from ``<!-- table: NAME -->`` to ``<!-- end -->`` written again."""

    def fill(block: re.Match[str]) -> str:
        name = block["name"]
        if name not in tables:
            raise UserError(f"there is no table {name!r}{did_you_mean(name, tables)}")
        return f"{block[1]}{tables[name]()}\n{block[3]}"

    if len(_BLOCK.findall(text)) != text.count("<!-- table:"):
        raise UserError("a table block has no <!-- end -->, or its name holds more than a-z and -")
    return _BLOCK.sub(fill, text)
