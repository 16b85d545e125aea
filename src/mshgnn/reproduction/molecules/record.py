"""One run of the comparison as it is kept: what was measured, at what cost, by which versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from mshgnn.errors import UserError
from mshgnn.files import write_atomically
from mshgnn.reproduction.molecules.plan import Cell


@dataclass(frozen=True)
class MoleculeRecord:
    """The test metric of one cell, and the cost of the whole command on one thread."""

    set: str
    split: str
    seed: int
    system: str
    metric: str
    value: float
    seconds: float
    """Wall time of the command, from its start to its last file."""
    processor_seconds: float
    """The same in time of the processor, which other work on the machine does not change."""
    epochs: int | None
    """How many were trained; None for a forest."""
    rows: tuple[int, int, int]
    """Of train, validation and test."""
    split_digest: str
    """Equal for all systems of a set, split and seed: they were given the same rows."""
    versions: Mapping[str, str]
    commit: str

    @property
    def cell(self) -> Cell:
        """Which run it is of."""
        return Cell(self.set, self.split, self.seed, self.system)

    def save(self, folder: Path) -> Path:
        """Write it below the folder of the comparison; the file appears whole or not at all."""
        path = folder / self.cell.path
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(asdict(self), indent=1, allow_nan=False) + "\n").encode())
        return path

    @classmethod
    def of(cls, content: Any, source: str) -> Self:
        """From the plain values of a file."""
        try:
            return cls(**{**content, "rows": tuple(content["rows"])})
        except (TypeError, KeyError) as error:
            raise UserError(f"{source}: is no record of molecules ({error})") from None
