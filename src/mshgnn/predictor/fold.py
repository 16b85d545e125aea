"""One fold of a training: a model from the training part, the epoch from the validation part, kept on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.readers.read import Read
from mshgnn.data.splits import Split
from mshgnn.errors import Failure, UserError
from mshgnn.evaluation.rules import best_validation
from mshgnn.files import read_json, write_atomically
from mshgnn.models import MODELS, build, resolve
from mshgnn.predictor.coding import recoded
from mshgnn.predictor.config import TrainConfig
from mshgnn.predictor.member import Member
from mshgnn.predictor.so_far import NAME, SoFar, clear
from mshgnn.predictor.units import Units
from mshgnn.training.checkpoint import Checkpoint
from mshgnn.training.curves import CURVE_NAMES, Curves, json_number, oriented
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.objective import objective_of
from mshgnn.training.parallel import ALONE, Workers
from mshgnn.training.seeding import fold_seed

FOLD_FILE, CURVES_FILE, CHECKPOINT_FILE = "fold.json", "curves.json", "checkpoint.safetensors"


class TrainingFailed(Failure):
    """A training that could not be brought to its end, through no mistake in what was asked for."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """A disk that is full, or gone, ends a training with one line; files that are there already stay whole."""
    try:
        yield
    except OSError as error:
        raise TrainingFailed(
            f"{folder}: cannot be written ({error.strerror or error}); put that right, then the same command goes on"
        ) from None


@dataclass(frozen=True)
class FoldReport:
    """How a fold went: losses and validation metric of every epoch, and which epoch's weights are kept."""

    digest: str
    """Of everything that decides the fold: another digest is trained again."""
    finished: bool
    chosen_epoch: int
    """Counted from 1."""
    seconds: float
    num_parameters: int
    train_loss: tuple[float, ...]
    validation_metric: tuple[float, ...]
    kept: str = ""
    """The folder below the fold's that holds the member, while it is trained (see :mod:`~mshgnn.predictor.so_far`)."""

    def save(self, folder: Path) -> None:
        """Write it; a fold that has this file can be loaded."""
        content = {key: [json_number(v) for v in value] if isinstance(value, tuple) else value
                   for key, value in asdict(self).items()}  # fmt: skip
        write_atomically(folder / FOLD_FILE, (json.dumps(content) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> FoldReport | None:
        """Read it; None where there is no finished or interrupted fold."""
        path = folder / FOLD_FILE
        if not path.exists():
            return None
        content: dict[str, Any] = read_json(path)
        try:
            for key in ("train_loss", "validation_metric"):
                content[key] = tuple(float(value) for value in content[key])
            for key in ("chosen_epoch", "seconds", "num_parameters"):
                if not math.isfinite(content[key]):
                    raise ValueError(f"{key} is {content[key]}")
            report = cls(**content)
            if report.chosen_epoch not in range(1, len(report.train_loss) + 1):
                raise ValueError(f"its chosen epoch is {report.chosen_epoch} of {len(report.train_loss)}")
            if report.kept and not NAME.fullmatch(report.kept):
                raise ValueError(f"it names {report.kept[:40]!r}")
            return report
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path} is damaged: {error}") from None


def load_curves(folder: Path) -> Curves | None:
    """All curves of a finished fold, test included; None where they were not kept."""
    path = folder / CURVES_FILE
    if not path.exists():
        return None
    content = read_json(path)
    try:
        return Curves.from_dict(content)
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def train_member(
    config: TrainConfig,
    read: Read,
    split: Split,
    number: int,
    digest: str,
    folder: Path,
    on_epoch: Callable[[EpochReport], None],
    workers: Workers = ALONE,
) -> FoldReport:
    """Train one fold and write it into ``folder``; on Ctrl-C, or a kill, the best epoch so far is there, too.

    An interrupted fold that has at least one epoch is returned with ``finished`` false. A fold that was stopped,
    also by a kill, goes on from its last checkpoint, and ends as if it had not been. The first of the ``workers``
    writes.
    """
    member, dataset = untrained(config, read, split, number)
    reports: list[EpochReport] = []
    units = Units.of(dataset.metric, member.schema)

    def see(report: EpochReport) -> None:
        metric = None if report.validation_metric is None else units.restore(report.validation_metric)
        reports.append(report._replace(validation_metric=metric))
        on_epoch(reports[-1])

    def report_of(chosen: int, *, finished: bool, kept: str = "") -> FoldReport:
        return FoldReport(
            digest,
            finished,
            chosen,
            round(checkpoint.seconds, 1),
            member.model.num_parameters,
            tuple(report.train_loss for report in reports),
            tuple(float(report.validation_metric or 0.0) for report in reports),
            kept,
        )

    def name_it(kept: str, chosen: int) -> None:
        report_of(chosen, finished=False, kept=kept).save(folder)

    def keep(weights: Mapping[str, Tensor], epoch: int) -> None:
        if math.isfinite(reports[epoch].train_loss):
            so_far(weights, epoch)

    so_far = SoFar(folder, member, dataset, split, number, name_it)
    checkpoint, finished = Checkpoint(folder / CHECKPOINT_FILE, digest), True
    try:
        curves = train_fold(
            member.model,
            dataset,
            split,
            config.training,
            fold_seed(config.seed, number),
            see,
            keep_best=True,
            checkpoint=checkpoint,
            on_checkpoint=keep,
            workers=workers,
        )
        chosen = best_validation([curves]).epochs[0] + 1
    except KeyboardInterrupt:
        if not reports:
            raise
        finished = False
        metrics = [float(report.validation_metric or 0.0) for report in reports]
        better = objective_of(dataset).higher_is_better
        chosen = max(range(len(metrics)), key=lambda i: float(oriented(metrics[i], higher_is_better=better))) + 1
    if not math.isfinite(reports[chosen - 1].train_loss):
        raise TrainingFailed(f"fold {number + 1}: the loss is no number after the first epoch; try a smaller rate")
    report = report_of(chosen, finished=finished)
    if workers.is_first:
        with writing(folder):
            member.reaching(dataset, split, number).save(folder)
            if finished:
                write_atomically(folder / CURVES_FILE, (json.dumps(_in_units(curves, units).to_dict()) + "\n").encode())
            report.save(folder)
            clear(folder)
            if finished:
                checkpoint.remove()
    return report


def untrained(config: TrainConfig, read: Read, split: Split, number: int) -> tuple[Member, GraphDataset]:
    """The model of a fold before training, and the data set as it takes it.

    Vocabulary, degrees and scaling come from the training part. Classes are those of the whole file: they are numbered
    once, and one that the training part lacks is never predicted, but also never mistaken for another.
    """
    name, options = config.model["name"], config.options
    resolve(name, options)
    takes_edges = bool(read.dataset.edge_dim) and MODELS[name].takes_edge_features
    schema = read.schema.from_training(read.dataset, split.train, unseen=config.unseen)
    schema = replace(schema, class_names=read.schema.class_names)
    dataset = recoded(read.dataset, read.schema, schema, edge_features=takes_edges)
    if takes_edges:
        options = {**options, "edge_dim": dataset.edge_dim}
    with torch.random.fork_rng():
        torch.manual_seed(fold_seed(config.seed, number))
        model = build(name, dataset.num_features, dataset.out_channels, task=dataset.task, options=options)
    return Member(model, schema), dataset


def _in_units(curves: Curves, units: Units) -> Curves:
    """The curves with their metrics in the units of the file."""
    metrics = [name for name in CURVE_NAMES if name.endswith("metric")]
    changed: dict[str, Any] = {name: units.restore_all(getattr(curves, name)) for name in metrics}
    return replace(curves, **changed)
