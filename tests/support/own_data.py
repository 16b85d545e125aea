"""Small files and quick settings for the tests of training on own data."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mshgnn.data.readers.asked import Asked, Row
from mshgnn.data.readers.molecules import molecule
from mshgnn.predictor.config import TrainConfig, check_config
from mshgnn.training.loop import EpochReport

TINY = {"name": "gine", "hidden_channels": 8, "num_layers": 1}


def molecules(path: Path, rows: int = 60, seed: int = 0) -> Path:
    """Chains of carbon with oxygen: size, a noisy number, a class, two labels with blanks."""
    draw = random.Random(seed)
    lines = ["name,smiles,logp,kind,toxic,soluble"]
    for row in range(rows):
        atoms = [draw.choice("CCCCO") for _ in range(draw.randint(2, 9))]
        ring = "c1ccccc1" if row % 3 == 0 else ""
        oxygen = atoms.count("O")
        value = 0.5 * len(atoms) - oxygen + draw.gauss(0, 0.1) + (1.5 if ring else 0)
        kind = "alcohol" if oxygen else "alkane"
        lines.append(f"m{row},{''.join(atoms)}{ring},{value:.3f},{kind},{int(oxygen > 1)},{'' if row % 5 else row % 2}")
    path.write_text("\n".join(lines) + "\n")
    return path


def shapes(path: Path, rows: int = 40) -> Path:
    """Rings and stars with labels of the nodes, one graph per line."""
    ring, star = [[0, 1], [1, 2], [2, 0]], [[0, 1], [0, 2], [0, 3]]
    graphs = [
        {"edges": edges, "node_labels": ["a", "b", label, "a"], "target": name}
        for edges, label, name in ((ring, "a", "ring"), (star, "b", "star"))
    ] * (rows // 2)
    path.write_text("\n".join(json.dumps(graph) for graph in graphs) + "\n")
    return path


def rings(path: Path, rows: int = 80) -> Path:
    """Rings of several sizes with random labels of the nodes; the class is the commoner label."""
    draw = random.Random(0)
    lines = []
    for _ in range(rows):
        labels = [draw.choice("ab") for _ in range(draw.randint(3, 9))]
        edges = [[node, (node + 1) % len(labels)] for node in range(len(labels))]
        target = "a" if 2 * labels.count("a") > len(labels) else "b"
        lines.append(json.dumps({"edges": edges, "node_labels": labels, "target": target}))
    path.write_text("\n".join(lines) + "\n")
    return path


def nodes(folder: Path, count: int = 40) -> Path:
    """A ring of nodes whose class is the sign of a feature."""
    folder.mkdir()
    draw = random.Random(0)
    numbers = [draw.gauss(5, 2) for _ in range(count)]
    lines = ["id,size,label"] + [f"n{i},{x:.3f},{'big' if x > 5 else 'small'}" for i, x in enumerate(numbers)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    edges = ["from,to"] + [f"n{i},n{(i + 1) % count}" for i in range(count)]
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")
    return folder


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a .csv."""
    with path.open() as file:
        return list(csv.DictReader(file))


def endless_rows(taken: list[int]) -> Callable[[Path, Asked], Iterator[Row]]:
    """A reader of molecules without end; ``taken`` grows with every row."""

    def rows(path: Path, asked: Asked) -> Iterator[Row]:
        while True:
            taken.append(1)
            yield Row("here", {"smiles": "CC"}, {}, molecule("CC"))

    return rows


def config(data: Path, *target: str, epochs: int = 3, **changes: Any) -> TrainConfig:
    values: dict[str, Any] = {"data": str(data), "target": target, "model": TINY, "controls": False, **changes}
    values["training"] = {"epochs": epochs, "warmup_epochs": 0, **values.get("training", {})}
    return check_config(values, "test")


class Silent:
    """Hears everything and shows nothing; may stop the training like Ctrl-C after so many epochs."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.said: list[str] = []
        self.begun: list[int] = []
        self.stop_after = stop_after

    def say(self, line: str) -> None:
        self.said.append(line)

    def begin(self, fold: int, folds: int, todo: int) -> Callable[[EpochReport], None]:
        self.begun.append(fold)
        return self._see

    def _see(self, report: EpochReport) -> None:
        if report.epoch == self.stop_after:
            raise KeyboardInterrupt

    def end(self) -> None:
        pass
