"""What is asked of a file, and how its target columns are understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, Metric, Objective
from mshgnn.data.readers.bad_rows import BadRows
from mshgnn.data.readers.table import Table
from mshgnn.data.readers.text import TOO_LARGE, is_blank, number
from mshgnn.data.schema import Schema
from mshgnn.errors import did_you_mean

Cell = str | int | float | None
SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True)
class Asked:
    """Columns by name and what they are for; ``load_own`` explains each."""

    target: tuple[str, ...] = ()
    smiles: str = "smiles"
    objective: Objective | None = None
    metric: Metric | None = None
    id: str | None = None
    split: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    directed: bool = False
    schema: Schema | None = None
    on_error: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        """Refuse a wish that has no meaning."""
        if self.on_error not in ("stop", "skip"):
            raise DataError(f"on_error must be 'stop' or 'skip', not {self.on_error!r}")
        twice = [name for place, name in enumerate(self.target) if name in self.target[:place]]
        if twice:
            raise DataError(f"target {twice[0]!r} is asked for twice")

    @property
    def known_columns(self) -> Mapping[str, str]:
        """The columns by their role that the schema remembers."""
        return (self.schema.columns or {}) if self.schema else {}

    def targets_of(self, table: Table, used: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
        """The target columns: those asked for (``*`` is all that is left), a usual name, or the only one left."""
        if self.schema is not None and self.schema.target_names:
            return self.schema.target_names
        left = [column for column in table.columns if column not in {*used, *self.ignore}]
        if self.target == ("*",):
            return tuple(left)
        there = [column for column in usual if column in table.columns or f"{column}.0" in table.columns]
        chosen = self.target or tuple(there[:1]) or tuple(left if len(left) == 1 else ())
        if not chosen:
            raise DataError(f"{table.path}: line 1: which column is the target? columns are {', '.join(left)[:200]}")
        return chosen

    def names_among(self, there: Sequence[str], usual: Sequence[str], where: str) -> tuple[str, ...]:
        """Targets of a file that names them itself: those of the model, those asked for, or the ``usual`` ones."""
        names = self.schema.target_names if self.schema else self.target
        names = tuple(usual) if not names else tuple(there) if names == ("*",) else names
        for name in names:
            if name not in there:
                raise DataError(f"{where}: no target {name!r}; targets are {', '.join(there)[:100]}")
        return names

    def split_of(self, table: Table, bad: BadRows) -> list[str] | None:
        """``train``, ``val``, ``test`` or nothing for every row, where there is such a column."""
        column = self.split or ("split" if "split" in table.columns else None)
        if column is None:
            return None
        words = []
        for row, cell in enumerate(table.cells(column)):
            word = "" if is_blank(cell) else SPLITS.get(cell.strip().casefold())
            if word is None:
                bad.add(row, f"{table.where(row, column)}: train, val, test or nothing, not {cell[:40]!r}")
            words.append(word or "")
        return words

    def weights_of(self, table: Table, bad: BadRows) -> Tensor | None:
        """How much every row counts in the training loss, where a column says so."""
        if self.weight is None or self.schema is not None:
            return None
        weights = []
        for row, cell in enumerate(table.cells(self.weight)):
            read = 0.0 if row in bad else number(cell)
            if read is None or not 0 <= read < TOO_LARGE:
                what = "not a number" if read is None or read > 0 else "a weight must not be negative"
                bad.add(row, f"{table.where(row, self.weight)}: {what}: {cell[:40]!r}")
            weights.append(read or 0.0)
        return torch.tensor(weights, dtype=torch.float32)

    def check_ignored(self, path: Path, there: Iterable[str]) -> None:
        """A column to leave out must be there: a misspelt one would be left in without a word."""
        there = tuple(there)
        for name in self.ignore:
            if name not in there:
                hint = did_you_mean(name, there) or f"; columns are {', '.join(there)[:200]}"
                raise DataError(f"{path}: line 1: no column {name!r} to leave out{hint}")

    def refuse(self, path: Path, *names: Literal["id", "split", "weight", "ignore", "target", "directed"]) -> None:
        """Say that options mean nothing for a file of this kind, instead of leaving them aside without a word."""
        if self.schema is not None:  # the options are those of a trained model, and of the file it was trained on
            return
        for name in names:
            value = getattr(self, name)
            if value:
                words = [name] if value is True else [name, value] if isinstance(value, str) else [name, *value]
                raise DataError(f"{path}: the option {' '.join(words)}: a file of this kind has no use for it")


class Row(NamedTuple):
    """One row of a file. The graph is not encoded yet: it has ``x`` as numbers, or ``labels``, or both, or neither."""

    where: str
    cells: Mapping[str, str]
    """All columns as text; ``line`` and any ``id`` for a ``.jsonl``, ``graph`` for a folder in TU text form."""
    targets: Mapping[str, Cell]
    """What the file says of its targets, by name."""
    graph: Data | None
    problem: str = ""
    """Why there is no graph."""
