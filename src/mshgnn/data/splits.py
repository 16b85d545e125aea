"""Train, validation and test divisions, always read from files and checked against the data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.sources.archives import read_npz
from mshgnn.data.sources.store import mirror
from mshgnn.data.targets import is_missing
from mshgnn.files import parse_json

SOURCES = ("default", "fair-comparison", "tuned", "inside", "own", "cross-validation")
OWN_SEED = 20260101
PARTS = ("train", "val", "test")
"""What a split column and the names of masks call the parts."""

_TUNED_FILES = {
    "AmazonPhoto": "tuned_amazon_photo.npz",
    "AmazonComputers": "tuned_amazon_computers.npz",
    "CoauthorPhysics": "tuned_coauthor_physics.npz",
}


class Split(NamedTuple):
    """Indices of graphs, or of nodes, int64, without overlap."""

    train: Tensor
    validation: Tensor
    test: Tensor


@dataclass(frozen=True)
class Splits:
    """All folds of one data set. ``source`` says where they come from, ``checksum`` which they are."""

    name: str
    folds: list[Split]
    checksum: str
    source: str


def load_splits(dataset: GraphDataset, source: str = "default") -> Splits:
    """The folds of a data set.

    Args:
        dataset: what ``load`` or a reader of own graphs returned.
        source: ``fair-comparison`` (10 folds, TU sets) and ``tuned`` (node sets) read the given files in the
            ``splits`` folder beside the mirror; ``inside`` the masks of a graph, ``[nodes]`` or
            ``[nodes, folds]``, or the ``split`` of every graph, which may leave items out; ``own`` the package's
            stratified files, or for a user's data the same division made on the spot.
            ``default`` is the first of these that is there; ``cross-validation`` gives its validation parts to
            training, as papers do that choose nothing on validation. Items without a target are in no part.
    """
    if source not in SOURCES:
        raise DataError(f"splits must be one of {', '.join(SOURCES)}, not {source!r}")
    if source == "cross-validation":
        folds = [_without_validation(fold) for fold in load_splits(dataset).folds]
        return Splits(dataset.name, folds, _checksum(folds), source)
    if source == "default":
        source = _first_source(dataset)
    if source == "inside":
        folds = with_targets(dataset, _inside(dataset))
    elif source == "fair-comparison":
        folds = _fair_comparison(_given_file(dataset, source))
    elif source == "tuned":
        folds = _kept_nodes(dataset, _tuned(_given_file(dataset, source)))
    else:
        folds = _own(dataset)
    check_splits(dataset, folds, source)
    return Splits(dataset.name, folds, _checksum(folds), source)


def check_splits(dataset: GraphDataset, folds: Sequence[Split], source: str) -> None:
    """Refuse folds that do not fit: index out of range, in two parts, missing, or a part that is empty.

    Only masks (``inside``) may leave items out, and only items without a target are in no part anywhere.
    """
    label = f"{dataset.name}: {source} splits"
    if not folds:
        raise DataError(f"{label}: no folds")
    total = dataset.num_items
    needed = ~is_missing(dataset.labels())
    for number, fold in enumerate(folds):
        if min(len(part) for part in fold) == 0:
            raise DataError(f"{label}: fold {number}: a part is empty")
        counts = count_items(fold, total, f"{label}: fold {number}")
        left_out = (counts == 0) & needed
        if source != "inside" and bool(left_out.any()):
            raise DataError(f"{label}: fold {number}: {int(left_out.nonzero()[0])} is in no part")


def count_items(fold: Split, total: int, label: str) -> Tensor:
    """How often each of ``total`` items is in a fold, 0 or 1; an unknown one, or one in two parts, is refused."""
    indices = torch.cat(list(fold))
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= total):
        raise DataError(f"{label}: an index is outside 0..{total - 1}")
    counts = torch.bincount(indices, minlength=total)
    if int(counts.max()) > 1:
        raise DataError(f"{label}: {int(counts.argmax())} is there more than once")
    return counts


def own_folds(dataset: GraphDataset) -> int:
    """Folds of the package's own splits: 10 (80/10/10) for graphs, 5 (60/20/20) for nodes."""
    return 10 if dataset.task == "graph" else 5


def fold_assignment(labels: Tensor, num_folds: int, seed: int = OWN_SEED) -> str:
    """One digit an item, its test fold: each class is shuffled and dealt out, so folds are stratified."""
    if not 3 <= num_folds <= 10:
        raise DataError(f"the number of folds must be in 3..10, not {num_folds}")
    random = np.random.default_rng(seed)
    values = labels.numpy()
    digits = np.empty(len(values), dtype=np.int64)
    dealt = 0
    for label in np.unique(values):
        members = random.permutation(np.flatnonzero(values == label))
        digits[members] = (dealt + np.arange(len(members))) % num_folds
        dealt += len(members)
    return "".join(map(str, digits.tolist()))


def _first_source(dataset: GraphDataset) -> str:
    if ("train_mask" if dataset.task == "node" else "split") in dataset.graphs[0]:
        return "inside"
    for source in ("fair-comparison", "tuned"):
        path = _given_path(dataset, source)
        if path is not None and path.is_file():
            return source
    return "own"


def _given_path(dataset: GraphDataset, source: str) -> Path | None:
    """Where a given split file would be; None when there is no mirror or no such file for this data set."""
    folder = mirror()
    if folder is None or not dataset.catalogued:
        return None
    if source == "fair-comparison":
        return folder.parent / "splits" / "fair_comparison" / f"{dataset.name}.json"
    name = _TUNED_FILES.get(dataset.name)
    return folder.parent / "splits" / name if name else None


def _given_file(dataset: GraphDataset, source: str) -> Path:
    path = _given_path(dataset, source)
    if path is None or not path.is_file():
        where = path or "the folder 'splits' beside MSHGNN_MIRROR"
        raise DataError(f"{dataset.name}: no {source} splits: looked for {where}")
    return path


def _fair_comparison(path: Path) -> list[Split]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        return [
            Split(
                _indices(fold["model_selection"][0]["train"]),
                _indices(fold["model_selection"][0]["validation"]),
                _indices(fold["test"]),
            )
            for fold in content
        ]
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError, RecursionError) as error:
        raise DataError(f"{path}: not a fair-comparison split file ({error})") from error


def _tuned(path: Path) -> list[Split]:
    content = read_npz(path, dict.fromkeys(("train", "valid", "test"), "iu"))
    return [Split(*(_indices(content[part]) for part in ("train", "valid", "test")))]


def _inside(dataset: GraphDataset) -> list[Split]:
    if ("train_mask" if dataset.task == "node" else "split") not in dataset.graphs[0]:
        raise DataError(f"{dataset.name}: its file has no splits inside")
    if dataset.task == "graph":
        words = [graph.get("split") for graph in dataset.graphs]
        return [Split(*(_indices([i for i, word in enumerate(words) if word == part]) for part in PARTS))]
    masks = [_mask(dataset, f"{part}_mask") for part in PARTS]
    if len({mask.shape[1] for mask in masks}) != 1:
        raise DataError(f"{dataset.name}: its masks have {', '.join(str(mask.shape[1]) for mask in masks)} folds")
    return [
        Split(*(_indices(mask[:, fold].nonzero().flatten()) for mask in masks)) for fold in range(masks[0].shape[1])
    ]


def _mask(dataset: GraphDataset, key: str) -> Tensor:
    """One mask as bool ``[nodes, folds]``."""
    mask = dataset.graphs[0].get(key)
    if not isinstance(mask, Tensor) or mask.dim() not in (1, 2) or mask.shape[0] != dataset.num_items:
        found = "missing" if mask is None else f"{list(getattr(mask, 'shape', []))}"
        raise DataError(f"{dataset.name}: {key} must be a mask [{dataset.num_items}] or with folds as columns: {found}")
    return mask.reshape(dataset.num_items, -1).bool()


def with_targets(dataset: GraphDataset, folds: list[Split]) -> list[Split]:
    """The folds without the items that have no target."""
    if not bool((missing := is_missing(dataset.labels())).any()):
        return folds
    return [Split(*(part[~missing[part]] for part in fold)) for fold in folds]


def _own(dataset: GraphDataset) -> list[Split]:
    path = resources.files("mshgnn.data") / "split_files" / f"{dataset.name}.json"
    if dataset.catalogued and path.is_file():
        content = json.loads(path.read_text(encoding="utf-8"))
        return _kept_nodes(dataset, _dealt(content["assignment"], content["folds"]))
    num_folds = own_folds(dataset)
    labels = dataset.labels()
    count = int((~is_missing(labels)).sum())
    if count < num_folds:
        raise DataError(f"{dataset.name}: own splits need at least {num_folds} {dataset.task}s, not {count}")
    if labels.is_floating_point():  # no classes to deal out evenly: only what has a target is kept apart
        labels = -is_missing(labels).long()
    return with_targets(dataset, _dealt(fold_assignment(labels, num_folds), num_folds))


def _dealt(assignment: str, num_folds: int) -> list[Split]:
    """Folds from the test fold of every item: the next fold validates, the others train."""
    digits = torch.tensor([int(digit) for digit in assignment])
    folds = []
    for number in range(num_folds):
        test, validation = digits == number, digits == (number + 1) % num_folds
        parts = (~(test | validation), validation, test)
        folds.append(Split(*(_indices(part.nonzero().flatten()) for part in parts)))
    return folds


def _without_validation(fold: Split) -> Split:
    """The fold with its validation part in the training part."""
    return Split(_indices(torch.cat([fold.train, fold.validation]).sort().values), _indices([]), fold.test)


def _kept_nodes(dataset: GraphDataset, folds: list[Split]) -> list[Split]:
    """Folds of the full graph, as indices of the nodes a largest component keeps."""
    kept = dataset.graphs[0].get("n_id")
    if kept is None:
        return folds
    size = 1 + max(int(kept.max()), *(int(part.max()) for fold in folds for part in fold))
    position = torch.full((size,), -1)
    position[kept] = torch.arange(len(kept))
    return [Split(*(_indices(position[part][position[part] >= 0]) for part in fold)) for fold in folds]


def _indices(values: object) -> Tensor:
    indices = torch.as_tensor(values, dtype=torch.long)
    if indices.dim() != 1:
        raise ValueError("indices must be a flat list")
    return indices


def _checksum(folds: Sequence[Split]) -> str:
    digest = hashlib.sha256()
    for fold in folds:
        for part in fold:
            digest.update(np.int64(len(part)).tobytes() + part.numpy().tobytes())
    return digest.hexdigest()
