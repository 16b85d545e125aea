"""The Morgan forest in a process of its own, so that it is timed like the others.

``python -m mshgnn.reproduction.molecules.forest NAME FOLDER SPLIT SEED OUT``
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import torch

from mshgnn.data.dataset import Objective
from mshgnn.predictor.controls import morgan_forest
from mshgnn.reproduction.molecules.plan import SETS
from mshgnn.reproduction.molecules.prepare import Prepared


def forest(name: str, prepared: Prepared, split: str, seed: int, out: Path) -> None:
    """Fit it to the training part and write the predictions of the test part: one row per molecule."""
    smiles, targets = prepared.read()
    parts = prepared.parts(split, seed)
    train, test = ([smiles[row] for row in parts[part]] for part in ("train", "test"))
    labels = torch.from_numpy(targets[parts["train"]])
    objective: Objective = "regress" if SETS[name].regression else "multilabel"
    values = morgan_forest(train, labels, test, objective, 2, seed).numpy()
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"t{number}" for number in range(values.shape[1])])
        writer.writerows(np.round(values, 7).tolist())


if __name__ == "__main__":
    _name, _folder, _split, _seed, _out = sys.argv[1:]
    forest(_name, Prepared(Path(_folder)), _split, int(_seed), Path(_out))
