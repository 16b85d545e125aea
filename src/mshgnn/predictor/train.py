"""``mshgnn train``: read, split, train one model or an ensemble, measure it beside controls, keep everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from mshgnn import __version__
from mshgnn.data import read_own
from mshgnn.data.readers.read import Read
from mshgnn.data.splits import Split
from mshgnn.data.targets import is_missing
from mshgnn.errors import UserError
from mshgnn.files import TEMPORARY, write_atomically
from mshgnn.machine import find_device
from mshgnn.models import MODELS, resolve
from mshgnn.predictor.config import TrainConfig, load_config, settle_options
from mshgnn.predictor.ensemble import CONFIG_FILE, member_folders
from mshgnn.predictor.fold import FoldReport, TrainingFailed, train_member, untrained, writing
from mshgnn.predictor.splitting import make_folds, settle, splits_json
from mshgnn.predictor.summary import Summary, summarise
from mshgnn.records.codec import checksum, first_difference
from mshgnn.records.run import NUMBERS_VERSION
from mshgnn.training.forecast import forecast
from mshgnn.training.loop import EpochReport
from mshgnn.training.parallel import ALONE, Workers

SPLITS_FILE = "splits.json"
DESCRIPTION = (CONFIG_FILE, "schema.json", SPLITS_FILE)
"""What a training writes before its first fold, in this order."""


class Watcher(Protocol):
    """Who is told how a training goes."""

    def say(self, line: str) -> None:
        """One line for the user."""

    def begin(self, fold: int, folds: int, todo: int) -> Callable[[EpochReport], None]:
        """A fold starts, and ``todo`` are left with it; returns what is called after every epoch."""

    def end(self) -> None:
        """The last fold is over."""


def train(config: TrainConfig, folder: Path, watcher: Watcher) -> Summary:
    """Train what ``config`` describes into ``folder``; finished folds that are there already are not trained again.

    On Ctrl-C the folder holds the best epoch so far; the summary says so.
    """
    summary = train_together(config, folder, watcher, ALONE)
    assert summary is not None, "a worker by itself is the first"
    return summary


def train_together(config: TrainConfig, folder: Path, watcher: Watcher, workers: Workers) -> Summary | None:
    """The same by several workers that all call this; the first of them writes, and has the summary."""
    config, read, rows, folds = gather(config)
    watcher.say(describe(read, config, folds))
    _warn(read, config, folds, watcher)
    first, dataset = untrained(config, read, folds[0], 0)  # refuses what the model cannot take
    if said := forecast(first.model, dataset, config.training):
        watcher.say(said)
    digests = _digests(config, read, folds)
    if workers.is_first:
        _prepare(config, read, folds, rows, digests, folder)
    reports, interrupted = _train_folds(config, read, folds, digests, folder, watcher, workers)
    if not workers.is_first:
        return None
    _check_still_there(folder)
    with writing(folder):
        return summarise(config, read, folds[: len(reports)], rows, reports, folder, interrupted=interrupted)


class Unheard:
    """A watcher of a training far away, whom nobody hears."""

    def say(self, line: str) -> None:
        """Nothing."""

    def begin(self, fold: int, folds: int, todo: int) -> Callable[[EpochReport], None]:
        """Nothing."""
        return lambda report: None

    def end(self) -> None:
        """Nothing."""


def train_silently(config: TrainConfig, folder: Path, workers: Workers) -> Summary | None:
    """:func:`train_together` on some node of a cluster."""
    return train_together(config, folder, Unheard(), workers)


class Gathered(NamedTuple):
    """A description with everything settled, and what it names: data, their rows in the file, folds."""

    config: TrainConfig
    read: Read
    rows: list[int]
    folds: list[Split]


def gather(config: TrainConfig) -> Gathered:
    """Check the model, read the data and split them."""
    config = config.placed()
    resolve(config.model["name"], config.options)  # a wrong name or option need not wait for a large file
    find_device(config.training.device)
    read = read_own(config.data, config.asked())
    if not read.schema.target_names:  # the TU form names no target
        read = read._replace(schema=replace(read.schema, target_names=("target",)))
    config = settle_options(config, read.dataset.task)
    config = config.model_copy(update={"split": settle(config.split, read.dataset)})
    check_folds(config)
    _check_classes(config, read)
    rows = rows_of(read)
    folds = make_folds(
        read.dataset,
        config.split,
        seed=config.seed,
        folds=config.folds,
        rows=rows,
        file=config.split_file,
        where=config.data,
    )
    return Gathered(config, read, rows, folds)


def describe(read: Read, config: TrainConfig, folds: list[Split]) -> str:
    """What was understood, in one line: the task, the targets, the metric, the split."""
    dataset = read.dataset
    names = ", ".join(dataset.target_names[:4]) + (", ..." if len(dataset.target_names) > 4 else "")
    what = {"classify": "class", "rank": "rank", "regress": "number", "multilabel": "0/1 labels"}[dataset.objective]
    if dataset.objective in ("classify", "rank"):
        shown = ", ".join(dataset.class_names[:5]) + (", ..." if dataset.num_classes > 5 else "")
        what += f" of {dataset.num_classes} ({shown})"
    parts = "/".join(f"{len(part):,}" for part in folds[0])
    count = f", {len(folds)} folds" if len(folds) > 1 else ""
    return (
        f"{dataset.num_items:,} {dataset.task}s; task: {dataset.task} {dataset.objective}: {what} {names or 'target'}; "
        f"metric {dataset.metric}; split {config.split} {parts}{count}; model {config.model['name']}"
    )


def _warn(read: Read, config: TrainConfig, folds: list[Split], watcher: Watcher) -> None:
    """Say what a user might not expect; of rows left out the reader says so itself."""
    dataset = read.dataset
    if dataset.edge_dim and not MODELS[config.model["name"]].takes_edge_features:
        watcher.say(f"{config.model['name']} takes no edge features: the {dataset.edge_dim} of the file are not used")
    if dataset.objective in ("classify", "rank"):
        seen = set(dataset.labels()[folds[0].train].tolist())
        unseen = [name for number, name in enumerate(dataset.class_names) if number not in seen]
        if unseen:
            watcher.say(f"no training item has class {', '.join(unseen[:5])}: it will never be predicted")
    else:
        blank = dataset.labels()[folds[0].train].isnan().all(dim=0).tolist()
        unseen = [name for name, gone in zip(dataset.target_names, blank, strict=True) if gone]
        if unseen:
            watcher.say(
                f"no training item has a value of {', '.join(unseen[:5])}: what is predicted for it means nothing"
            )
    missing = int(is_missing(dataset.labels()).sum())
    if missing:
        watcher.say(f"{missing:,} {dataset.task}s have no target")


def check_folds(config: TrainConfig) -> None:
    """Refuse folds beside a split of the file's own, found by ``auto``: one of both would not be followed."""
    if config.folds > 1 and config.split in ("column", "file"):
        raise UserError(
            f"{config.data}: its split column says itself what trains and tests; leave folds out, or say split random"
        )


def _check_classes(config: TrainConfig, read: Read) -> None:
    """One class is nothing to learn: whatever is trained would always be right, and always useless."""
    if read.dataset.objective in ("classify", "rank") and len(set(read.dataset.labels().tolist()) - {-1}) < 2:
        raise UserError(f"{config.data}: every target is of one class: there is nothing to tell apart")


def rows_of(read: Read) -> list[int]:
    """The row of the file, from 0, of each item."""
    left_out = {row for row, _ in read.skipped}
    return [row for row in range(read.dataset.num_items + len(left_out)) if row not in left_out]


def _digests(config: TrainConfig, read: Read, folds: list[Split]) -> list[str]:
    """What decides the weights of each fold, in a few letters; weights of rows are in the checksum of the data."""
    decisive = config.model_dump(mode="json", exclude={"data", "coverage", "controls", "weight_column", "unseen"})
    decisive |= {"options": resolve(config.model["name"], config.options), "numbers": NUMBERS_VERSION}
    decisive["version"] = __version__
    decisive["split_file"] = None  # wherever it lies: its rows are below
    if config.unseen != "other":  # which it was for every training before there was a choice
        decisive["unseen"] = config.unseen
    return [checksum([decisive, read.dataset.checksum, [part.tolist() for part in split]])[:16] for split in folds]


def _prepare(
    config: TrainConfig, read: Read, folds: list[Split], rows: list[int], digests: list[str], folder: Path
) -> None:
    """Make the folder, or make sure that what is there was asked for in the same words."""
    path = folder / CONFIG_FILE
    there = path.exists() and not _is_untrained(folder)
    if there:
        before, now = (c.placed().model_dump(mode="json") for c in (load_config(path), config))
        if before != now:
            raise UserError(f"{folder}: holds another training ({first_difference(before, now)}); choose another --out")
        for number, digest in enumerate(digests):
            old = FoldReport.load(folder / f"model_{number}")
            if old is not None and old.digest != digest:
                raise UserError(
                    f"{folder}: was trained before {config.data} or the defaults changed; choose another --out"
                )
    known = DESCRIPTION if path.exists() else ()
    if folder.exists() and not (folder.is_dir() and (member_folders(folder) or _holds_only(folder, known))):
        raise UserError(f"{folder}: is not empty and no model; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not there:  # first: a kill right after it is gone on from
            write_atomically(path, config.to_yaml().encode())
        write_atomically(folder / "schema.json", read.schema.to_json().encode())
        write_atomically(folder / SPLITS_FILE, splits_json(folds, rows).encode())
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror})") from None


def _check_still_there(folder: Path) -> None:
    """The folder was described before the training; what of it is gone, somebody removed meanwhile."""
    lost = [name for name in DESCRIPTION if not (folder / name).exists()]
    if lost:
        raise TrainingFailed(f"{folder}: was removed or changed while the training went on; lost: {', '.join(lost)}")


def _is_untrained(folder: Path) -> bool:
    """Whether a training was refused there, or stopped at once: the corrected command may have the folder."""
    described = all((folder / name).exists() for name in DESCRIPTION)  # a config of the user's own is alone
    return described and not member_folders(folder) and _holds_only(folder, DESCRIPTION)


def _holds_only(folder: Path, names: tuple[str, ...]) -> bool:
    """Whether a folder holds nothing but these files, folds, and halves of files that a kill left."""
    return all(
        path.name in names or path.name.startswith("model_") or path.name.endswith(TEMPORARY)
        for path in folder.iterdir()
    )


def _train_folds(
    config: TrainConfig,
    read: Read,
    folds: list[Split],
    digests: list[str],
    folder: Path,
    watcher: Watcher,
    workers: Workers,
) -> tuple[list[FoldReport], bool]:
    """The reports of all folds, fewer after Ctrl-C."""
    reports: list[FoldReport] = []
    places = [folder / f"model_{number}" for number in range(len(folds))]
    found = workers.agree([FoldReport.load(place) for place in places] if workers.is_first else [])
    done = [old is not None and old.finished for old in found]
    try:
        for number, split in enumerate(folds):
            old = found[number]
            if old is not None and done[number]:
                watcher.say(f"fold {number + 1} of {len(folds)} is there already")
                reports.append(old)
                continue
            on_epoch = watcher.begin(number, len(folds), done[number:].count(False))
            report = train_member(config, read, split, number, digests[number], places[number], on_epoch, workers)
            reports.append(report)
            if not reports[-1].finished:
                break
    except KeyboardInterrupt:
        if not reports:
            raise
    finally:
        watcher.end()
    return reports, len(reports) < len(folds) or not reports[-1].finished
