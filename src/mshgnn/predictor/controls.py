"""What a trained model must beat: a constant, and for molecules a random forest on Morgan bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.dataset import GraphDataset, Objective
from mshgnn.data.splits import Split

TREES = 200
BITS = 2048


def control_values(dataset: GraphDataset, split: Split) -> dict[str, Tensor]:
    """The test values of each control by its name, in the form of ``Computed.values``."""
    constant = "mean" if dataset.objective == "regress" else "majority"
    found = {constant: _constant(dataset, split)}
    if dataset.task == "graph" and dataset.graphs[0].get("smiles") is not None:
        found["Morgan forest"] = _forest(dataset, split)
    return found


def _constant(dataset: GraphDataset, split: Split) -> Tensor:
    """The mean of the training part, or the share of each class in it."""
    train = dataset.labels()[split.train]
    if dataset.objective in ("classify", "rank"):
        shares = torch.bincount(train, minlength=dataset.num_classes) / len(train)
    else:
        shares = train.nanmean(dim=0).nan_to_num()
    return shares.float().expand(len(split.test), -1)


def _forest(dataset: GraphDataset, split: Split) -> Tensor:
    train, test = ([dataset.graphs[i].smiles for i in part.tolist()] for part in (split.train, split.test))
    labels = dataset.labels()[split.train]
    return morgan_forest(train, labels, test, dataset.objective, dataset.num_classes)


def morgan_forest(
    train: Sequence[str], labels: Tensor, test: Sequence[str], objective: Objective, num_classes: int, seed: int = 0
) -> Tensor:
    """A forest for each target, from its rows that are not blank; one for all where none is blank.

    Takes SMILES and the targets of the training part, ``[n]`` or ``[n, T]``; gives the values of the test part.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    known_bits, bits, targets = _bits(train), _bits(test), labels.numpy()
    if objective == "regress":
        forest: Any = RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed)
    else:
        forest = RandomForestClassifier(TREES, random_state=seed)
    if objective in ("classify", "rank"):
        return _probabilities(forest.fit(known_bits, targets), bits, num_classes)
    if objective == "regress" and not np.isnan(targets).any():
        found = forest.fit(known_bits, targets if targets.shape[1] > 1 else targets[:, 0]).predict(bits)
        return torch.from_numpy(found.reshape(len(bits), -1)).float()
    columns = []
    for column in targets.T:
        known = ~np.isnan(column)
        if not known.any():
            columns.append(torch.zeros(len(bits)))
        elif objective == "regress":
            columns.append(torch.from_numpy(forest.fit(known_bits[known], column[known]).predict(bits)).float())
        else:
            fitted = forest.fit(known_bits[known], column[known].astype(np.int64))
            columns.append(_probabilities(fitted, bits, 2)[:, 1])
    return torch.stack(columns, dim=1)


def _probabilities(forest: Any, test: np.ndarray[Any, Any], num_classes: int) -> Tensor:
    """``[n, C]``; a class that the forest never saw has probability 0."""
    found = torch.zeros(len(test), num_classes)
    found[:, forest.classes_.tolist()] = torch.from_numpy(forest.predict_proba(test)).float()
    return found


def _bits(smiles: Sequence[str]) -> np.ndarray[Any, Any]:
    """Morgan fingerprints of radius 2, ``[n, BITS]``."""
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=2, fpSize=BITS)
    return np.stack([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles])
