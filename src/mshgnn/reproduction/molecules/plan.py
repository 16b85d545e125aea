"""What is compared: sets of molecules, splits, seeds and systems, small sets first."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mshgnn.errors import UserError, did_you_mean

SPLITS = ("scaffold", "random")
SEEDS = (0, 1, 2)
SYSTEMS = {
    "msh-stable": "MSH-GNN `stable`",
    "gine": "GINE, same shell",
    "morgan-forest": "Morgan forest",
    "chemprop": "chemprop",
}
"""The systems by name, with their titles in a table."""
ENDINGS = (".csv", ".csv.gz")


@dataclass(frozen=True)
class MoleculeSet:
    """A table of molecules as it is published: its file, its target columns, its metric."""

    stem: str
    """The file's usual name without its ending; the set's own name will do, too."""
    target: str
    """A column, or ``*`` for all but the SMILES."""
    metric: str

    @property
    def regression(self) -> bool:
        """Whether the targets are numbers; else they are 0 and 1."""
        return self.metric in ("rmse", "mae")


SETS = {
    "ESOL": MoleculeSet("delaney", "logp", "rmse"),
    "BBBP": MoleculeSet("BBBP", "p_np", "roc_auc"),
    "Lipophilicity": MoleculeSet("lipo", "lipo", "rmse"),
    "Tox21": MoleculeSet("tox21", "*", "roc_auc"),
    "QM8": MoleculeSet("qm8", "*", "mae"),
    "HIV": MoleculeSet("HIV", "HIV_active", "roc_auc"),
}
"""In the order in which they are run: by what a run costs."""


@dataclass(frozen=True, order=True)
class Cell:
    """One run of the comparison."""

    set: str
    split: str
    seed: int
    system: str

    def __str__(self) -> str:
        return f"{self.set}/{self.split}/{self.seed}/{self.system}"

    @property
    def path(self) -> Path:
        """Of its record, below the folder of the comparison."""
        return Path(self.set) / self.split / f"{self.system}-{self.seed}.json"


def cells(
    sets: Collection[str], splits: Collection[str], seeds: Collection[int], systems: Collection[str]
) -> Iterator[Cell]:
    """All runs asked for, in the order of ``SETS``; within a set all systems of a seed before the next seed."""
    for kind, asked, known in (("set", sets, SETS), ("split", splits, SPLITS), ("system", systems, SYSTEMS)):
        for name in asked:
            if name not in known:
                raise UserError(f"there is no {kind} {name!r}: {', '.join(known)}{did_you_mean(name, known)}")
    for name in SETS:
        if name in sets:
            for seed in sorted(seeds):
                for split in SPLITS:
                    if split in splits:
                        yield from (Cell(name, split, seed, system) for system in SYSTEMS if system in systems)


def find_file(folder: Path, name: str) -> Path:
    """The table of a set in a folder."""
    wanted = [stem + ending for stem in (SETS[name].stem, name) for ending in ENDINGS]
    for file in wanted:
        if (folder / file).is_file():
            return folder / file
    raise UserError(f"{folder}: holds no table of {name}; it is called {' or '.join(dict.fromkeys(wanted))}")
