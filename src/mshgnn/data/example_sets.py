"""Small data sets of every kind of file, made up by rule, to try the commands on before one's own data.

Nothing in them is measured. The rules are simple enough to be learnt from a few hundred rows within a minute.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mshgnn.data.dataset import DataError
from mshgnn.errors import did_you_mean
from mshgnn.files import read_regular, written

LINKERS = {"C": -0.5, "CC": -1.0, "C(C)": -0.9, "c1ccc(cc1)": -1.7, "C1CCC(CC1)": -2.0}
GROUPS = {"O": 0.9, "N": 0.8, "S": -0.3, "C(=O)O": 0.6, "C(=O)N": 1.2}
ENDS = {"C": -0.4, "O": 1.5, "N": 1.2, "F": -0.2, "Cl": -0.7, "C#N": 0.3, "C(=O)O": 1.4, "[N+](=O)[O-]": -0.1}
"""Pieces of a molecule, each with what it adds to the solubility."""
NITRO = "[N+](=O)[O-]"
COMMUNITIES = ("north", "east", "south")


def write_molecules(path: Path, rows: int, seed: int) -> None:
    """A table of SMILES: a chain of linkers and groups with one end.

    ``solubility`` is the sum of what the pieces add; ``nitro`` says whether there is a nitro group, which the rule of
    the solubility hardly notices.
    """
    draw = random.Random(seed)
    table: list[tuple[object, ...]] = []
    for _ in range(rows):
        length = draw.randint(1, 4)
        chain = [piece for _ in range(length) for piece in (draw.choice([*LINKERS]), draw.choice([*GROUPS]))]
        end = NITRO if draw.random() < 0.3 else draw.choice([*ENDS])
        pieces = [*chain[:-1], end]  # the last group gives way to the end
        worth = LINKERS | GROUPS
        solubility = sum(worth[piece] for piece in chain[:-1]) + ENDS[end]
        table.append(("".join(pieces), f"{solubility:.1f}", "yes" if end == NITRO else "no"))
    _write_table(path, ("smiles", "solubility", "nitro"), table)


def write_nodes(path: Path, rows: int, seed: int) -> None:
    """A folder with ``nodes.csv`` and ``edges.csv``: three communities, whose members mostly know each other.

    The features are noisy traces of the community. They and the edges together tell more than either alone.
    """
    draw = random.Random(seed)
    members = [index % len(COMMUNITIES) for index in range(rows)]
    nodes = []
    for index, community in enumerate(members):
        traces = [f"{draw.gauss(1.0 if place == community else 0.0, 1.0):.3f}" for place in range(len(COMMUNITIES))]
        nodes.append((f"p{index}", *traces, COMMUNITIES[community]))
    edges: set[tuple[int, int]] = set()
    while len(edges) < 3 * rows:
        a, b = draw.randrange(rows), draw.randrange(rows)
        if a < b and (members[a] == members[b] or draw.random() < 0.15):
            edges.add((a, b))
    _write_table(path / "nodes.csv", ("id", *(f"trace_{name}" for name in COMMUNITIES), "community"), nodes)
    _write_table(path / "edges.csv", ("from", "to"), [(f"p{a}", f"p{b}") for a, b in sorted(edges)])


def write_graphs(path: Path, rows: int, seed: int) -> None:
    """A ``.jsonl`` of graphs without features: rings with tails, and trees of as many nodes."""
    draw = random.Random(seed)
    lines = []
    for index in range(rows):
        nodes, has_ring = draw.randint(6, 14), index % 2 == 0
        core = draw.randint(3, nodes - 2) if has_ring else 1
        edges = [[node, (node + 1) % core] for node in range(core)] if has_ring else []
        edges += [[node, draw.randrange(node)] for node in range(core, nodes)]
        lines.append(json.dumps({"edges": edges, "num_nodes": nodes, "target": "ring" if has_ring else "tree"}))
    _write(path, "\n".join(lines) + "\n")


KINDS: dict[str, tuple[Callable[[Path, int, int], None], str]] = {
    "molecules": (write_molecules, "molecules.csv"),
    "nodes": (write_nodes, "network"),
    "graphs": (write_graphs, "graphs.jsonl"),
}
"""Writer and default path of each kind."""


def write_example(kind: str, path: Path | None = None, rows: int = 300, seed: int = 0) -> Path:
    """Write an example set of ``rows`` molecules, nodes or graphs and give its path; the same seed, the same file."""
    if kind not in KINDS:
        raise DataError(f"unknown kind of example {kind!r}{did_you_mean(kind, KINDS)}")
    if rows < 10:
        raise DataError(f"an example needs at least 10 rows, not {rows}")
    write, name = KINDS[kind]
    path = path or Path(name)
    write(path, rows, seed)
    return path


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    """A file of that name that holds anything else is somebody's data."""
    if path.is_file() and read_regular(path) != text.encode():
        raise DataError(f"{path}: is there already; choose another --out")
    with written(path) as file:
        file.write(text.encode())
