"""One fold of one seed, wherever it runs: load, build, train, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from mshgnn.data import load, load_own
from mshgnn.data.dataset import GraphDataset
from mshgnn.data.splits import Splits, load_splits
from mshgnn.errors import did_you_mean
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import Experiment
from mshgnn.lab.store import FoldKey, FoldResult
from mshgnn.machine import peak_memory_mb, reset_peak_memory
from mshgnn.models import MODELS, build, measured_options
from mshgnn.models.controls import CONTROLS
from mshgnn.training.curves import CURVE_NAMES, Curves
from mshgnn.training.loop import EpochReport, train_fold
from mshgnn.training.seeding import fold_seed, one_thread


@dataclass(frozen=True)
class FoldJob:
    """What an engine is given to do; small enough to be sent anywhere."""

    experiment: Experiment
    key: FoldKey
    environment: Mapping[str, str]


class LoadedData(NamedTuple):
    """A data set and its splits."""

    dataset: GraphDataset
    splits: Splits


OnEpoch = Callable[[EpochReport], None]


def load_data(experiment: Experiment) -> LoadedData:
    """The data set and splits an experiment names."""
    choice = experiment.dataset
    if choice.path is not None:
        dataset = load_own(choice.path)
    else:
        dataset = load(choice.name, features=choice.features, largest_component=choice.largest_component)
    splits = load_splits(dataset, experiment.splits)
    if choice.edge_features and not dataset.edge_dim:
        raise ExperimentError(f"dataset.edge_features: {dataset.name} has no edge features")
    if dataset.edge_dim and not choice.edge_features:
        bare = [Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in dataset.graphs]
        dataset = replace(dataset, graphs=bare, edge_dim=0)
    return LoadedData(dataset, splits)


def run_fold(job: FoldJob, data: LoadedData, on_epoch: OnEpoch | None = None) -> FoldResult:
    """Train (or fit) the experiment's model on one fold."""
    reset_peak_memory()
    started = time.perf_counter()
    if job.experiment.model.name in CONTROLS:
        curves, parameters = _fit_control(job, data), 0
    else:
        model, curves = train_model(job, data, on_epoch)
        parameters = sum(parameter.numel() for parameter in model.parameters())
    seconds = time.perf_counter() - started
    return FoldResult(job.key, curves, seconds, peak_memory_mb(), parameters, job.environment)


def train_model(job: FoldJob, data: LoadedData, on_epoch: OnEpoch | None = None) -> tuple[nn.Module, Curves]:
    """The model after its last epoch, and its curves."""
    seed = fold_seed(*job.key)
    split = data.splits.folds[job.key.fold]
    with one_thread(seed):
        model = build_model(job.experiment, data.dataset, split.train)
    return model, train_fold(model, data.dataset, split, job.experiment.training, seed, on_epoch)


def build_model(experiment: Experiment, dataset: GraphDataset, train: Tensor | None = None) -> nn.Module:
    """The experiment's model for a data set; an unknown name or option is an error with the nearest one.

    Some options are measured on the training graphs ``train``, or on the one graph of a node task.
    """
    name, options = experiment.model.name, experiment.model.options
    graphs = dataset.graphs if train is None or dataset.task == "node" else dataset[train].graphs
    options = measured_options(name, graphs) | options
    if dataset.edge_dim:
        options["edge_dim"] = dataset.edge_dim
    return build(name, dataset.num_features, dataset.num_classes, task=dataset.task, options=options)


def check_model(experiment: Experiment, dataset: GraphDataset) -> None:
    """Raise before anything runs if the model's name or options are wrong."""
    choice = experiment.model
    if choice.name in CONTROLS:
        if choice.options:
            raise ExperimentError(f"model.{next(iter(choice.options))}: the control {choice.name!r} has no options")
        if dataset.task != "graph":
            raise ExperimentError(f"model.name: the control {choice.name!r} is for graph tasks, not {dataset.name}")
        return
    if choice.name not in MODELS:
        raise ExperimentError(
            f"model.name: unknown model {choice.name!r}{did_you_mean(choice.name, [*MODELS, *CONTROLS])}"
        )
    with torch.random.fork_rng():
        build_model(experiment, dataset)


def _fit_control(job: FoldJob, data: LoadedData) -> Curves:
    """A control has no epochs: its curves have one point, so that every rule applies. Its loss is 1 - accuracy."""
    dataset, split = data.dataset, data.splits.folds[job.key.fold]
    with one_thread(fold_seed(*job.key)):
        control = CONTROLS[job.experiment.model.name]()
        target = dataset.labels()
        graphs = [[dataset.graphs[index] for index in part.tolist()] for part in split]
        control.fit(graphs[0], target[split.train].numpy())
        right = [
            float(np.mean(np.asarray(control.predict(members)) == target[part].numpy())) if members else 0.0
            for members, part in zip(graphs, split, strict=True)
        ]
    points = [np.array([value]) for value in (*(1 - share for share in right), *right)]
    sizes = (len(split.train), len(split.validation), len(split.test))
    return Curves(**dict(zip(CURVE_NAMES, points, strict=True)), sizes=sizes, higher_is_better=True)
