"""Read a set once and write what every system is given: a plain table, and the same parts as rows of both files.

``python -m mshgnn.reproduction.molecules.prepare FILE NAME FOLDER SPLIT:SEED...`` runs it in a process of its own.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mshgnn.files import write_atomically
from mshgnn.records.codec import checksum
from mshgnn.reproduction.molecules.plan import SETS

TABLE = "molecules.csv"
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Prepared:
    """A folder with the table of a set and its splits."""

    folder: Path

    @property
    def table(self) -> Path:
        """``smiles`` and targets ``t0``, ``t1``, ... of the molecules that can be read, in the order of the file."""
        return self.folder / TABLE

    def split_file(self, split: str, seed: int, *, of_source: bool) -> Path:
        """``splits.json`` in rows of the published file, or of our table."""
        return self.folder / f"{split}-{seed}-{'source' if of_source else 'table'}.json"

    def missing(self, splits: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Those that are not made yet."""
        return [pair for pair in splits if not self.split_file(*pair, of_source=False).exists()]

    def parts(self, split: str, seed: int) -> dict[str, list[int]]:
        """Rows of the table in each part."""
        (fold,) = json.loads(self.split_file(split, seed, of_source=False).read_text())
        return {part: fold[part] for part in PARTS}

    def digest(self, split: str, seed: int) -> str:
        """Of table and parts, in a few letters."""
        return checksum([self.table.read_text(encoding="utf-8"), self.parts(split, seed)])[:16]

    def read(self) -> tuple[list[str], NDArray[np.float64]]:
        """SMILES ``[n]`` and targets ``[n, T]``, NaN where one is missing."""
        with open(self.table, newline="", encoding="utf-8") as file:
            _, *rows = csv.reader(file)
        return [row[0] for row in rows], np.array(
            [[float(cell) if cell else math.nan for cell in row[1:]] for row in rows]
        )


def prepare(file: Path, name: str, folder: Path, splits: Iterable[tuple[str, int]]) -> Prepared:
    """Read ``file`` as ``mshgnn train`` does, and split it as it does; what is there already is left alone."""
    prepared = Prepared(folder)
    missing = prepared.missing(splits)
    if not missing:
        return prepared
    from mshgnn.data import read_own
    from mshgnn.data.readers.asked import Asked
    from mshgnn.predictor.config import How
    from mshgnn.predictor.splitting import make_folds, splits_json
    from mshgnn.predictor.train import rows_of

    metric: Any = SETS[name].metric
    read = read_own(file, Asked(target=(SETS[name].target,), metric=metric, on_error="skip"))
    rows = rows_of(read)
    folder.mkdir(parents=True, exist_ok=True)
    labels = read.dataset.labels()
    values = (labels.unsqueeze(1) if labels.dim() == 1 else labels).tolist()
    _write_table(prepared.table, [graph.smiles for graph in read.dataset.graphs], values)
    for split, seed in missing:
        folds = make_folds(read.dataset, cast(How, split), seed=seed, folds=1, rows=rows)
        # The file that marks the split as made comes last.
        for of_source, numbers in ((True, rows), (False, range(len(rows)))):
            target = prepared.split_file(split, seed, of_source=of_source)
            write_atomically(target, splits_json(folds, list(numbers)).encode())
    return prepared


def _write_table(path: Path, smiles: Sequence[str], values: Sequence[Sequence[float]]) -> None:
    lines = [",".join(["smiles", *(f"t{number}" for number in range(len(values[0])))])]
    for text, row in zip(smiles, values, strict=True):
        cells = ["" if math.isnan(value) else f"{value:.7g}" for value in row]
        lines.append(",".join([f'"{text}"' if "," in text else text, *cells]))
    write_atomically(path, ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    _file, _name, _folder, *_pairs = sys.argv[1:]
    prepare(Path(_file), _name, Path(_folder), [(pair.split(":")[0], int(pair.split(":")[1])) for pair in _pairs])
