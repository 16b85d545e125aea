"""What the paper's tables print for every method, with the rule behind it, beside the same rule here."""

from __future__ import annotations

from typing import Literal

from mshgnn.report.markdown import markdown
from mshgnn.reproduction.layout import GRAPH_SETS, NODE_SETS
from mshgnn.reproduction.published import printed_entries, rules_behind
from mshgnn.reproduction.results import Results


def graph_printed(results: Results) -> str:
    """Graph classification."""
    return _printed(results, "graph", GRAPH_SETS)


def node_printed(results: Results) -> str:
    """Node classification."""
    return _printed(results, "node", NODE_SETS)


def _printed(results: Results, table: Literal["graph", "node"], sets: dict[str, str]) -> str:
    """A row per method: the rule behind its figures, each figure, and in brackets what our run has under that rule."""
    rows = []
    for behind in rules_behind(table):
        entries = printed_entries(table, behind.method)
        cells = []
        for dataset in sets:
            record = results.records.get((dataset, behind.model))
            here = results.cell(dataset, behind.model, behind.rule) if record is not None and behind.rule else "–"
            text = entries.get(dataset, "–")
            cells.append(text if here == "–" else f"{text} ({here})")
        rows.append([behind.method, behind.words, *cells])
    return markdown(["printed (here), %", "the epoch is chosen by", *sets.values()], rows)
