"""Graphs as a model takes them: encoded by the schema of its training part, once read or on the way in."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch_geometric.data import Data

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.mapped import MAPPED
from mshgnn.data.readers.on_disk import RECEIVER_START
from mshgnn.data.recoding import recoded_columns
from mshgnn.data.schema import Schema


def recoded(dataset: GraphDataset, whole: Schema, own: Schema, *, edge_features: bool) -> GraphDataset:
    """A data set that was read by the schema of its whole file, as the schema of a training part would read it.

    Targets that are regressed become units of the training part's deviation. Without ``edge_features`` there are none.
    """
    graphs = []
    for graph in dataset.graphs:
        changed = copy.copy(graph)
        changed.x = recoded_columns(graph.x, whole, own)
        if own.target_mean:
            changed.y = (graph.y - torch.tensor(own.target_mean)) / torch.tensor(own.target_std)
        if not edge_features and "edge_attr" in changed:
            del changed["edge_attr"]
        graphs.append(changed)
    return replace(
        dataset,
        graphs=graphs,
        num_features=int(graphs[0].x.shape[1]),
        edge_dim=dataset.edge_dim if edge_features else 0,
        degree_columns=0 if own.degree_cap is None else own.degree_cap + 1,
    )


def encoded(raw: Data, schema: Schema, where: str, *, width: int, edge_dim: int | None) -> Data:
    """A graph as it stands in a file, for a model of ``width`` features and ``edge_dim`` edge features."""
    graph = Data(edge_index=raw.edge_index, num_nodes=raw.num_nodes, y=torch.zeros(1))
    graph.x = schema.features(raw, where)
    for name in (MAPPED, RECEIVER_START):  # of a graph that stays on the disk
        if name in raw:
            graph[name] = raw[name]
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
