"""What an experiment runs on: its data set with splits, and its model."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn

from mshgnn.data import add_encoding, load, load_own
from mshgnn.data.dataset import GraphDataset
from mshgnn.data.recoding import training_cap, with_training_degrees
from mshgnn.data.splits import Split, Splits, load_splits
from mshgnn.lab.errors import ExperimentError
from mshgnn.lab.experiment import DatasetChoice, Encoding, Experiment
from mshgnn.lab.registry import CONTROLS, MODELS, build, known_options, measured_options, resolve
from mshgnn.training.forecast import forecast


class LoadedData(NamedTuple):
    """A data set and its splits."""

    dataset: GraphDataset
    splits: Splits

    def of_fold(self, fold: int) -> tuple[GraphDataset, Split]:
        """The data set with the columns that the fold's training part shows, and the parts."""
        split = self.splits.folds[fold]
        return with_training_degrees(self.dataset, split.train), split

    def cuts_degrees(self, folds: Sequence[int]) -> bool:
        """Whether the training part of any of these folds lacks a degree that has a column in the whole set."""
        whole = self.dataset.degree_columns - 1
        return any(training_cap(self.dataset, self.splits.folds[fold].train) < whole for fold in folds)


def load_data(experiment: Experiment) -> LoadedData:
    """The data set and splits an experiment names, with the features that it asks for."""
    choice = experiment.dataset
    if choice.path is not None:
        dataset = load_own(choice.path)
    else:
        dataset = load(choice.name, features=choice.features, largest_component=choice.largest_component)
    splits = load_splits(dataset, experiment.splits)  # before anything else: some lie in the graphs' masks
    return LoadedData(_with_features(dataset, choice), splits)


def data_bytes(data: LoadedData) -> int:
    """What the tensors of the graphs take."""
    values = (value for graph in data.dataset.graphs for _, value in graph if isinstance(value, Tensor))
    return sum(value.nbytes for value in values)


def build_model(experiment: Experiment, dataset: GraphDataset, train: Tensor | None = None) -> nn.Module:
    """The experiment's model for a data set; an unknown name or option is an error with the nearest one.

    Some options are measured on the training graphs ``train``, or on the one graph of a node task.
    """
    name, options = experiment.model.name, experiment.model.options
    graphs = dataset.graphs if train is None or dataset.task == "node" else dataset[train].graphs
    options = measured_options(name, graphs) | options
    if dataset.edge_dim:
        options["edge_dim"] = dataset.edge_dim
    return build(name, dataset.num_features, dataset.out_channels, task=dataset.task, options=options)


def check_model(experiment: Experiment, dataset: GraphDataset) -> str | None:
    """Raise before anything runs if the model cannot be built for the data set, or its steps would not fit.

    Returns what a step on a large whole graph will take, where that can be said.
    """
    choice = experiment.model
    resolve(choice.name, choice.options)
    if dataset.edge_dim and "edge_dim" not in known_options(choice.name):
        able = ", ".join(name for name in MODELS if "edge_dim" in known_options(name))
        raise ExperimentError(f"dataset.edge_features: {choice.name} takes no edge features; these do: {able}")
    if choice.name in CONTROLS:
        if dataset.task != "graph":
            raise ExperimentError(f"model.name: the control {choice.name!r} is for graph tasks, not {dataset.name}")
        return None
    with torch.random.fork_rng():
        return forecast(build_model(experiment, dataset), dataset, experiment.training)


def _with_features(dataset: GraphDataset, choice: DatasetChoice) -> GraphDataset:
    """The data set with or without its edge features, and with positional encodings."""
    if choice.edge_features and not dataset.edge_dim:
        raise ExperimentError(f"dataset.edge_features: {dataset.name} has no edge features")
    if dataset.edge_dim and not choice.edge_features:
        bare = [copy(graph) for graph in dataset.graphs]
        for graph in bare:
            del graph.edge_attr
        dataset = replace(dataset, graphs=bare, edge_dim=0)
    for encoding in get_args(Encoding):  # in this order, whatever the file's
        if encoding in choice.encodings:
            dataset = add_encoding(dataset, encoding, choice.encodings[encoding])
    return dataset
