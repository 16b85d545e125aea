"""Node columns cut down to what a training part shows.

A reader makes one column for each label or degree of the whole file. A model is trained on the columns of its training
part: what only other graphs have shares one column, so their labels and degrees decide nothing about the model.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import Tensor

from mshgnn.data.dataset import DataError, GraphDataset
from mshgnn.data.schema import Schema
from mshgnn.data.transforms import degrees_of


def recoded_columns(x: Tensor, whole: Schema, own: Schema) -> Tensor:
    """Features that the schema of a whole file made, as the schema of its training part would have made them."""
    if whole.node_labels:
        first = x.shape[1] - whole.label_columns  # numbers come before the labels
        kept = [first + whole.node_labels.index(label) for label in own.node_labels]
        others = sorted({*range(first, x.shape[1])} - {*kept})
        numbers, unseen = own.scaled(x[:, :first], "features"), x[:, others].sum(dim=1, keepdim=True)
        if own.unseen == "error":
            if bool(unseen.any()):
                label = whole.node_labels[others[int(x[:, others].any(dim=0).nonzero()[0])] - first]
                raise DataError(f"node label {label!r} is not in the training part (unseen='other' takes it)")
            return torch.cat([numbers, x[:, kept]], dim=1)
        return torch.cat([numbers, x[:, kept], unseen], dim=1)
    if own.degree_cap is not None:
        return capped(x, own.degree_cap, x.shape[1])
    return own.scaled(x, "features")


def capped(x: Tensor, cap: int, columns: int) -> Tensor:
    """The first ``columns`` of ``x`` are one-hot degrees: those from ``cap`` on share a column. The rest stays.

    Rows without a higher degree are a view, which spares most graphs of a large set a copy.
    """
    if columns == x.shape[1] and not x[:, cap + 1 :].any():
        return x[:, : cap + 1]
    return torch.cat([x[:, :cap], x[:, cap:columns].sum(dim=1, keepdim=True), x[:, columns:]], dim=1)


def with_training_degrees(dataset: GraphDataset, train: Tensor) -> GraphDataset:
    """The data set as a model of the training part ``train`` takes it: degree columns up to the highest degree there.

    Where they are all of the data set's columns, or where features are no degrees, it is the data set itself. The
    checksum stays that of the whole.
    """
    cap = training_cap(dataset, train)
    if cap + 1 >= dataset.degree_columns:
        return dataset
    graphs = [copy.copy(graph) for graph in dataset.graphs]
    for graph in graphs:
        graph.x = capped(graph.x, cap, dataset.degree_columns)
    return replace(dataset, graphs=graphs, num_features=int(graphs[0].x.shape[1]), degree_columns=cap + 1)


def training_cap(dataset: GraphDataset, train: Tensor) -> int:
    """The highest degree of the training part that has a column; -1 where features are no degrees."""
    if not dataset.degree_columns:
        return -1
    if dataset.task == "graph":
        highest = max(int(degrees_of(dataset.graphs[item]).max()) for item in train.tolist())
    else:
        highest = int(degrees_of(dataset.graphs[0])[train].max())
    return min(highest, dataset.degree_columns - 1)
