"""Which items train, validate and test: at random, by class, by scaffold, by a column or by a file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.limits import check_file
from mshgnn.data.splits import Split, check_splits, load_splits, with_targets
from mshgnn.data.targets import is_missing
from mshgnn.files import parse_json
from mshgnn.predictor.config import How

SHARES = 10
"""One fold is cut into ten parts: one tests, one validates, eight train."""


def make_folds(
    dataset: GraphDataset,
    how: How,
    *,
    seed: int,
    folds: int,
    rows: Sequence[int],
    file: str | None = None,
    where: str | None = None,
) -> list[Split]:
    """The folds of a data set, every one checked: each part has items, and no item is in two.

    Args:
        dataset: what is split; nodes without a target are in no part.
        how: see ``TrainConfig``; ``auto`` must be settled before.
        seed: of everything drawn.
        folds: 1, or how many times the data are dealt into test parts.
        rows: the row of the file that each item comes from.
        file: a ``splits.json`` for ``file``.
        where: the file that messages name; the data set's name where it has none.
    """
    where = where or dataset.name
    if how == "column":
        if settle("auto", dataset) != "column":
            raise DataError(f"{where}: no column or key 'split' to follow; split_column names a column")
        return load_splits(dataset, "inside").folds
    if how == "file":
        where = file or where
        made = with_targets(dataset, read_splits(Path(where), rows))
    else:
        parts = folds if folds > 1 else SHARES
        items = torch.nonzero(~is_missing(dataset.labels())).flatten().numpy()
        if len(items) < parts:
            what = f"{dataset.task}s with a target"
            raise DataError(f"{where}: {len(items)} {what} are too few for {parts} parts; name a split column")
        groups = _groups(dataset, how, items, where)
        if how == "scaffold" and len(groups) < parts:
            raise DataError(f"{where}: {len(groups)} scaffolds are too few for {parts} parts; split at random")
        dealt = items, _dealt(groups, parts, len(items), seed, keep=how == "stratified")
        made = [_fold(*dealt, test, parts) for test in range(folds if folds > 1 else 1)]
    check_splits(replace(dataset, name=where), made, "inside")  # which may leave out items
    return made


def settle(how: How, dataset: GraphDataset) -> How:
    """The split that ``auto`` stands for."""
    if how != "auto":
        return how
    if ("train_mask" if dataset.task == "node" else "split") in dataset.graphs[0]:
        return "column"
    return "stratified" if dataset.objective in ("classify", "rank") else "random"


def splits_json(folds: Sequence[Split], rows: Sequence[int]) -> str:
    """The folds as rows of the file, counted from 0 without the header; ``read_splits`` takes it."""
    parts = [{name: [rows[i] for i in part.tolist()] for name, part in zip(NAMES, fold, strict=True)} for fold in folds]
    return json.dumps(parts) + "\n"


NAMES = ("train", "val", "test")


def read_splits(path: Path, rows: Sequence[int]) -> list[Split]:
    """Folds from a JSON list of ``{"train", "val", "test"}``: lists of rows, or texts such as ``"0-3,7"``."""
    check_file(path)
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error})") from error
    place = {row: item for item, row in enumerate(rows)}
    folds = []
    for number, fold in enumerate(content if isinstance(content, list) else [content]):
        where = f"{path}: fold {number}"
        if not isinstance(fold, dict):
            raise DataError(f"{where}: not an object with the parts {', '.join(NAMES)}")
        parts = {name: _part(fold, name, place, where) for name in NAMES}
        _check_apart(parts, where)
        folds.append(Split(*(torch.tensor([place[row] for row in part], dtype=torch.long) for part in parts.values())))
    return folds


def _check_apart(parts: Mapping[str, Sequence[int]], where: str) -> None:
    """No part is empty, and no row is named twice."""
    part_of: dict[int, str] = {}
    for name, part in parts.items():
        if not part:
            raise DataError(f"{where}: part {name!r} is empty")
        for row in part:
            if row in part_of:
                raise DataError(f"{where}: row {row} is in part {part_of[row]!r}, and in part {name!r} again")
            part_of[row] = name


def _part(fold: Mapping[str, Any], name: str, place: Mapping[int, int], where: str) -> list[int]:
    """The rows of one part; a row that the file does not have, or that was left out, is refused."""
    if name not in fold:
        raise DataError(f"{where}: there is no part {name!r}; parts are {', '.join(NAMES)}")
    try:
        rows = _numbers(fold[name], max(place, default=0))
    except ValueError as error:
        raise DataError(f"{where}: part {name!r}: not a list of rows, nor a text like '0-3,7' ({error})") from error
    unknown = next((row for row in rows if row not in place), None)
    if unknown is not None:
        raise DataError(f"{where}: part {name!r}: there is no row {unknown} among {len(place):,}, counted from 0")
    return rows


def _numbers(value: Any, last: int) -> list[int]:
    """The rows of a part. Those of ``"0-3"`` are written out where the file has them, for few words name many rows."""
    if not isinstance(value, str):
        if not isinstance(value, list) or any(type(number) is not int for number in value):
            raise ValueError("rows are whole numbers")
        return value
    rows: list[int] = []
    for piece in value.split(","):
        first, _, end = piece.partition("-")
        low, high = int(first), int(end or first)
        rows += range(low, high + 1) if high <= last else [high]
        if len(rows) > last + 2:
            raise ValueError("rows are named twice")
    return rows


def _groups(dataset: GraphDataset, how: How, items: np.ndarray[Any, Any], where: str) -> list[list[int]]:
    """Positions in ``items`` that belong together: one each at random, a class, or a scaffold."""
    if how == "random":
        return [[position] for position in range(len(items))]
    keys: Sequence[object]
    if how == "stratified":
        labels = dataset.labels()
        if labels.is_floating_point():
            raise DataError(f"{where}: the split 'stratified' needs classes, and the targets are numbers")
        keys = labels[torch.from_numpy(items)].tolist()
    else:
        if dataset.graphs[0].get("smiles") is None:
            raise DataError(f"{where}: the split 'scaffold' is for molecules")
        keys = [_scaffold(dataset.graphs[index].smiles) for index in items.tolist()]
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for position, key in enumerate(keys):
        groups[key].append(position)
    return list(groups.values())


def _scaffold(smiles: str) -> str:
    """The rings and the chains between them (Bemis and Murcko)."""
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    return str(MurckoScaffoldSmiles(smiles=smiles))  # type: ignore[no-untyped-call, unused-ignore]


def _dealt(groups: list[list[int]], parts: int, total: int, seed: int, *, keep: bool) -> np.ndarray[Any, Any]:
    """The part of every position. Classes (``keep``) are dealt out evenly; other groups stay whole.

    Whole groups fill the last part first with those that would make up more than half of a part, as chemprop's
    balanced split does, then the part that lacks most.
    """
    random = np.random.default_rng(seed)
    part_of = np.empty(total, dtype=np.int64)
    if keep:
        dealt = 0
        for group in groups:
            members = random.permutation(group)
            # From the last part on: what is rare trains before it tests.
            part_of[members] = parts - 1 - (np.arange(len(members)) + (dealt if len(members) >= parts else 0)) % parts
            dealt += len(members)
        return part_of
    order = [groups[index] for index in random.permutation(len(groups))]
    order.sort(key=lambda group: len(group) * parts * 2 <= total)  # the large first; the sort is stable
    filled = dict.fromkeys(range(parts), 0)
    for group in order:
        part = max(range(parts), key=lambda candidate: (-filled[candidate], candidate))
        part_of[group] = part
        filled[part] += len(group)
    return part_of


def _fold(items: np.ndarray[Any, Any], part_of: np.ndarray[Any, Any], test: int, parts: int) -> Split:
    """The fold whose test part is ``test`` and whose validation part is the next."""
    validation = (test + 1) % parts
    chosen = (~np.isin(part_of, (test, validation)), part_of == validation, part_of == test)
    made: list[Tensor] = [torch.from_numpy(items[mask]) for mask in chosen]
    return Split(*made)
