"""Data with a known rule, and models trained on them within seconds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx as nx

from mshgnn.ops import get_backend, set_backend
from mshgnn.predictor.config import check_config
from mshgnn.predictor.ensemble import Ensemble
from mshgnn.predictor.train import train
from support.own_data import Silent

HOUSE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]


def houses(path: Path, rows: int = 120) -> list[set[tuple[int, int]]]:
    """Random trees of a, b and c with five d: in class ``house`` they form a house, else no two are neighbours.

    Neither the labels nor the shape give the class away. Returns the links of each house.
    """
    draw = random.Random(0)
    motifs, lines = [], []
    for row in range(rows):
        base = nx.random_labeled_tree(12, seed=draw.randint(0, 10**6))
        labels = [draw.choice("abc") for _ in base] + ["d"] * 5
        house = row % 2 == 0
        motif = {(12 + a, 12 + b) for a, b in HOUSE} if house else set()
        loose = [(draw.randrange(12), 12)] if house else [(draw.randrange(12), 12 + place) for place in range(5)]
        order = draw.sample(range(17), 17)
        edges = [[order[a], order[b]] for a, b in [*base.edges, *motif, *loose]]
        shuffled = [labels[order.index(node)] for node in range(17)]
        target = "house" if house else "plain"
        lines.append(json.dumps({"edges": edges, "node_labels": shuffled, "target": target}))
        motifs.append({(min(order[a], order[b]), max(order[a], order[b])) for a, b in motif})
    path.write_text("\n".join(lines) + "\n")
    return motifs


def nitro(path: Path, rows: int = 120) -> Path:
    """Rings and chains with decorations; ``toxic`` is whether a nitro group is there, ``dose`` how many there are."""
    draw = random.Random(0)
    others = ["C", "O", "N", "C(=O)O", "C#N", "Cl", "CC", "OC", "C(F)(F)F"]
    lines = ["id,smiles,toxic,dose"]
    for row in range(rows):
        groups = [draw.choice(others) for _ in range(3)]
        count = (row % 2) * (1 + (row % 4 == 3))
        for place in range(count):
            groups[place] = "[N+](=O)[O-]"
        draw.shuffle(groups)
        core = draw.choice(["c1c({})cc({})cc1{}", "C({})CCC({})CC{}", "c1c({})nc({})cc1{}"])
        lines.append(f"m{row},{core.format(*groups)},{'yes' if count else 'no'},{count + draw.gauss(0, 0.02):.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def plain_backend() -> Iterator[None]:
    """The reference backend for a while: on graphs this small it is as fast, and compiles nothing."""
    before = get_backend()
    set_backend("reference")
    try:
        yield
    finally:
        set_backend(before)


def trained(data: Path, target: str, folder: Path, *, epochs: int = 30, **changes: Any) -> Ensemble:
    """A small model of the data."""
    model = changes.pop("model", {"name": "msh-stable", "hidden_channels": 16, "num_layers": 2})
    values = {
        "data": str(data),
        "target": tuple(target.split()),
        "model": model,
        "controls": False,
        "training": {"epochs": epochs, "warmup_epochs": 0, "learning_rate": 0.01, "batch_size": 16},
        **changes,
    }
    with plain_backend():
        train(check_config(values, "test"), folder, Silent())
    return Ensemble.load(folder)
