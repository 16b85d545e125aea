"""The one door: a data set by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import LargestConnectedComponents, NormalizeFeatures

from mshgnn.data.catalogue import GENERATED, Entry, find, known
from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.neighbour_distribution import NeighbourDistribution
from mshgnn.data.pna_multitask import PNAMultitask
from mshgnn.data.readers.asked import Asked
from mshgnn.data.readers.own import read_own
from mshgnn.data.readers.table import SUFFIXES
from mshgnn.data.sources.store import data_root
from mshgnn.data.sources.upstream import open_upstream
from mshgnn.data.structure_frequency import StructureFrequencyDataset
from mshgnn.data.transforms import add_encodings, set_constant, set_degree, standardise

FEATURES = ("default", "attributes", "standardised", "degree", "constant", "scaled")
WITH_ATTRIBUTES = ("attributes", "standardised")


def load(
    name: str,
    *,
    features: str = "default",
    largest_component: bool = False,
    encodings: Mapping[str, int] | None = None,
    root: Path | None = None,
) -> GraphDataset:
    """Load a data set by its name, in any case: ``load("mutag")``, ``load("structure-frequency-varied")``.

    Args:
        name: a name of ``mshgnn data list`` or of the TU collection.
        features: ``default``: one-hot node labels; degrees one-hot or a constant where there are none.
            ``attributes``: continuous attributes before the labels (TU sets that have them).
            ``standardised``: the same, each attribute with mean 0 and variance 1 over all nodes of the set.
            ``degree``: one-hot degrees instead, as wide as the largest degree of the whole set; the lab and
                ``mshgnn train`` cut them to the training part.
            ``constant``: one column of ones instead.
            ``scaled``: every node's features divided by their sum (node tasks, whose features are counts).
        largest_component: keep only the largest connected component (node tasks); ``n_id`` holds the
            original numbers of the nodes kept.
        encodings: columns after the features, by their sizes: ``{"lappe": 8, "rwpe": 16}`` (see ``add_encoding``).
        root: where prepared data is kept (default: ``MSHGNN_DATA``, else the platform's cache folder).
    """
    if features not in FEATURES:
        raise DataError(f"features must be one of {', '.join(FEATURES)}, not {features!r}")
    entry = find(name)
    if largest_component and entry.task != "node":
        raise DataError(f"{entry.name}: largest_component is for node tasks")
    if features == "scaled" and entry.task != "node":
        raise DataError(f"{entry.name}: scaled features are for node tasks")
    if features in WITH_ATTRIBUTES and entry.family != "tu":
        raise DataError(f"{entry.name}: has no attributes beside its features")
    graphs, num_classes, class_names, target_names = _graphs(entry, features, root)
    if largest_component:
        graphs = [_largest_component(graph) for graph in graphs]
    degree_columns = _set_features(entry, graphs, features)
    dataset = from_graphs(
        graphs,
        name=entry.name,
        task=entry.task,
        num_classes=num_classes,
        metric=entry.metric,
        class_names=class_names,
        target_names=target_names,
    )
    dataset = replace(dataset, catalogued=True, degree_columns=degree_columns)
    return add_encodings(dataset, encodings or {}, root=root)


def load_any(name_or_path: str, asked: Asked | None = None) -> GraphDataset:
    """A data set by its name, or a user's own by its path: what has a separator or the ending of a data file.

    So has a folder of this name, unless the catalogue has a data set of the name. ``asked`` is for a user's own: the
    targets of a set with a name are known.
    """
    path_like = any(mark in name_or_path for mark in {"/", os.sep})
    ends = name_or_path.endswith((".jsonl", ".npz", *SUFFIXES))
    if path_like or ends or (Path(name_or_path).is_dir() and known(name_or_path) is None):
        return read_own(name_or_path, asked).dataset
    if asked not in (None, Asked()):
        raise DataError(
            f"{name_or_path}: columns, targets and metric of a set by name are fixed; leave the options out"
        )
    return load(name_or_path)


class _Found(NamedTuple):
    graphs: list[Data]
    num_classes: int | None
    class_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()


def _graphs(entry: Entry, features: str, root: Path | None) -> _Found:
    """The graphs of an entry and, where there are any, its classes or its targets with their names."""
    if entry.family in GENERATED:
        made = _generator(entry).generate()
        return _Found(made.graphs, made.num_classes or None, made.class_names, made.target_names)
    found = open_upstream(entry, data_root(root), attributes=features in WITH_ATTRIBUTES)
    if features in WITH_ATTRIBUTES and not found.num_attributes:
        raise DataError(f"{entry.name}: its files have no node attributes")
    if features == "standardised":
        standardise(found.graphs, found.num_attributes)
    return _Found(found.graphs, found.num_classes, found.class_names)


def _generator(entry: Entry) -> StructureFrequencyDataset | NeighbourDistribution | PNAMultitask:
    if entry.family == "neighbour-distribution":
        return NeighbourDistribution()
    if entry.family == "structure-frequency":
        return StructureFrequencyDataset.variant(entry.member)
    return PNAMultitask("nodes" if entry.family == "pna-nodes" else "graphs", larger=entry.member == "larger")


def _set_features(entry: Entry, graphs: list[Data], features: str) -> int:
    """Give every graph the features asked for; returns how many of their columns are degrees."""
    if features == "default" and graphs[0].get("x") is None:
        features = entry.unlabelled
    if features == "constant":
        set_constant(graphs)
    elif features == "degree":
        set_degree(graphs, entry.degree_cap, entry.name)
    elif features == "scaled":
        graphs[0].x = NormalizeFeatures()(graphs[0]).x
    return int(graphs[0].x.shape[1]) if features == "degree" else 0


def _largest_component(graph: Data) -> Data:
    graph.n_id = torch.arange(int(graph.num_nodes))
    return LargestConnectedComponents()(graph)
