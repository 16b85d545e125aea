"""Figures that others have printed, kept as data with their source."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple


@dataclass(frozen=True)
class PublishedFigure:
    """A printed mean with its spread (``None`` where none was printed), in percent."""

    mean: float
    std: float | None

    def __str__(self) -> str:
        """``mean ± std`` as printed."""
        return f"{self.mean:.1f}" if self.std is None else f"{self.mean:.1f} ± {self.std:.1f}"


def paper_figures() -> dict[str, PublishedFigure]:
    """What the paper prints for MSH-GNN, by data set: its tables of graph and node classification."""
    return _read("graph_classification.csv", "MSH-GNN") | _read("node_classification.csv", "MSH-GNN")


class RuleBehind(NamedTuple):
    """How a method's printed figures were chosen, as its code or its authors say."""

    table: str
    method: str
    model: str
    """The model here that is the method."""
    rule: str
    """The nearest of our rules; empty where it is not known."""
    words: str


def rules_behind(table: Literal["graph", "node"]) -> list[RuleBehind]:
    """The methods of one of the paper's tables, in its order."""
    return [RuleBehind(**row) for row in rows("rules.csv") if row["table"] == table]


def printed_entries(table: Literal["graph", "node"], method: str) -> dict[str, str]:
    """The paper's entries for ``method`` in one of its tables, by data set, as they stand there, ``OOM`` among them."""
    return {
        row["dataset"]: " ± ".join(part for part in (row["mean"], row["std"]) if part)
        for row in rows(f"{table}_classification.csv")
        if row["method"] == method
    }


def held_out_figures(method: str) -> dict[str, PublishedFigure]:
    """What others have printed for ``method``, by data set, the epoch chosen on validation."""
    return _read("held_out.csv", method)


def rows(table: str) -> list[dict[str, str]]:
    """The rows of one table, by column."""
    with (files("mshgnn.reproduction") / "published" / table).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def figure(row: Mapping[str, str]) -> PublishedFigure:
    """The figure in the columns ``mean`` and ``std`` of a row."""
    return PublishedFigure(float(row["mean"]), float(row["std"]) if row["std"] else None)


def multitask_figures() -> dict[str, float]:
    """What PNA's authors drew for their benchmark, mean log10 of the squared error of all six targets, by model."""
    return {row["model"]: float(row["mean"]) for row in rows("multitask.csv")}


def _read(table: str, method: str) -> dict[str, PublishedFigure]:
    """The figures of one method in one table, by data set."""
    found = (row for row in rows(table) if row["method"] == method and row["mean"] not in ("", "OOM"))
    return {row["dataset"]: figure(row) for row in found}
