"""Graphs as a model takes them: encoded by the schema of its training part, once read or on the way in."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.schema import Schema


def recoded(dataset: GraphDataset, whole: Schema, own: Schema, *, edge_features: bool) -> GraphDataset:
    """A data set that was read by the schema of its whole file, as the schema of a training part would read it.

    Targets that are regressed become units of the training part's deviation. Without ``edge_features`` there are none.
    """
    graphs = []
    for graph in dataset.graphs:
        changed = copy.copy(graph)
        changed.x = _columns(graph.x, whole, own)
        if own.target_mean:
            changed.y = (graph.y - torch.tensor(own.target_mean)) / torch.tensor(own.target_std)
        if not edge_features and "edge_attr" in changed:
            del changed["edge_attr"]
        graphs.append(changed)
    edge_dim = dataset.edge_dim if edge_features else 0
    return replace(dataset, graphs=graphs, num_features=int(graphs[0].x.shape[1]), edge_dim=edge_dim)


def _columns(x: Tensor, whole: Schema, own: Schema) -> Tensor:
    if whole.node_labels:
        kept = [whole.node_labels.index(label) for label in own.node_labels]
        others = sorted({*range(len(whole.node_labels))} - {*kept})
        return torch.cat([x[:, kept], x[:, others].sum(dim=1, keepdim=True)], dim=1)
    if own.degree_cap is not None:
        return torch.cat([x[:, : own.degree_cap], x[:, own.degree_cap :].sum(dim=1, keepdim=True)], dim=1)
    return own.scaled(x)


def encoded(raw: Data, schema: Schema, where: str, *, width: int, edge_dim: int | None) -> Data:
    """A graph as it stands in a file, for a model of ``width`` features and ``edge_dim`` edge features."""
    graph = Data(edge_index=raw.edge_index, num_nodes=raw.num_nodes, y=torch.zeros(1))
    graph.x = _features(raw, schema, where)
    if graph.x.shape[1] != width:
        raise DataError(f"{where}: {graph.x.shape[1]} node features, the model was trained on {width}")
    if edge_dim is not None:
        attributes = raw.get("edge_attr")
        if attributes is None and raw.edge_index.shape[1] == 0:
            attributes = torch.empty(0, edge_dim)
        found = 0 if attributes is None else int(attributes.shape[1])
        if attributes is None or (found != edge_dim and len(attributes)):
            raise DataError(f"{where}: {found} edge features, the model was trained on {edge_dim}")
        graph.edge_attr = attributes.reshape(-1, edge_dim)
    return graph


def _features(raw: Data, schema: Schema, where: str) -> Tensor:
    labels: Sequence[int | str] | None = raw.get("labels")
    if schema.node_labels:
        if labels is None:
            raise DataError(f"{where}: no node_labels, which the model was trained on")
        return schema.one_hot(labels, where)
    if schema.degree_cap is not None:
        return schema.degrees(raw.edge_index, int(raw.num_nodes), where)
    if raw.get("x") is None:
        raise DataError(f"{where}: no node features, which the model was trained on")
    x: Tensor = raw.x
    return schema.scaled(x)
