"""The one door: a data set by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import LargestConnectedComponents, NormalizeFeatures

from mshgnn.data.catalogue import Entry, find
from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.from_graphs import from_graphs
from mshgnn.data.sources.store import data_root
from mshgnn.data.sources.upstream import open_upstream
from mshgnn.data.structure_frequency import StructureFrequencyDataset
from mshgnn.data.transforms import set_constant, set_degree

FEATURES = ("default", "attributes", "degree", "constant", "scaled")


def load(
    name: str, *, features: str = "default", largest_component: bool = False, root: Path | None = None
) -> GraphDataset:
    """Load a data set by its name, in any case: ``load("mutag")``, ``load("structure-frequency-varied")``.

    Args:
        name: a name of ``mshgnn data list`` or of the TU collection.
        features: ``default``: one-hot node labels; degrees one-hot or a constant where there are none.
            ``attributes``: continuous attributes before the labels (TU sets that have them).
            ``degree``: one-hot degrees instead. ``constant``: one column of ones instead.
            ``scaled``: every node's features divided by their sum (node tasks, whose features are counts).
        largest_component: keep only the largest connected component (node tasks); ``n_id`` holds the
            original numbers of the nodes kept.
        root: where prepared data is kept (default: ``MSHGNN_DATA``, else the platform's cache folder).
    """
    if features not in FEATURES:
        raise DataError(f"features must be one of {', '.join(FEATURES)}, not {features!r}")
    entry = find(name)
    if largest_component and entry.task != "node":
        raise DataError(f"{entry.name}: largest_component is for node tasks")
    if features == "scaled" and entry.task != "node":
        raise DataError(f"{entry.name}: scaled features are for node tasks")
    if features == "attributes" and entry.family != "tu":
        raise DataError(f"{entry.name}: has no attributes beside its features")
    if entry.family == "structure-frequency":
        generated = StructureFrequencyDataset.variant(entry.member).generate()
        graphs, num_classes = generated.graphs, generated.num_classes
    else:
        graphs = _upstream_graphs(entry, features, data_root(root))
        num_classes = int(max(int(graph.y.max()) for graph in graphs)) + 1
    if largest_component:
        graphs = [_largest_component(graph) for graph in graphs]
    _set_features(entry, graphs, features)
    made = from_graphs(graphs, name=entry.name, task=entry.task, num_classes=num_classes, metric=entry.metric)
    return replace(made, catalogued=True)


def _upstream_graphs(entry: Entry, features: str, root: Path) -> list[Data]:
    dataset = open_upstream(entry, root, attributes=features == "attributes")
    if features == "attributes" and not dataset.num_node_attributes:
        raise DataError(f"{entry.name}: its files have no node attributes")
    return [_without_empty_columns(graph) for graph in dataset]


def _without_empty_columns(graph: Data) -> Data:
    """PyG leaves matrices without columns where a TU set has attributes that were not asked for, and no labels."""
    num_nodes = graph.num_nodes  # PyG counts the rows of x
    for key in ("x", "edge_attr"):
        value = graph.get(key)
        if value is not None and value.size(1) == 0:
            del graph[key]
            graph.num_nodes = num_nodes
    return graph


def _set_features(entry: Entry, graphs: list[Data], features: str) -> None:
    if features == "default" and graphs[0].get("x") is None:
        features = entry.unlabelled
    if features == "constant":
        set_constant(graphs)
    elif features == "degree":
        set_degree(graphs, entry.degree_cap)
    elif features == "scaled":
        graphs[0].x = NormalizeFeatures()(graphs[0]).x


def _largest_component(graph: Data) -> Data:
    graph.n_id = torch.arange(int(graph.num_nodes))
    return LargestConnectedComponents()(graph)
