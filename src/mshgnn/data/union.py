"""Many graphs as the one graph of a node task, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch_geometric.data import Data

from mshgnn.data.dataset import GraphDataset
from mshgnn.data.splits import PARTS
from mshgnn.structure.ragged import owners, running_sum


def union(graphs: Sequence[Data], parts: Sequence[str]) -> Data:
    """The graphs side by side, without an edge between them; ``parts`` says train, val or test of each.

    ``graph_of [n]`` is the number of every node's graph: training takes some of the graphs at a time, not all nodes at
    once. The masks ``train_mask``, ``val_mask`` and ``test_mask`` are the division by whole graphs.
    """
    start = running_sum([graph.x.size(0) for graph in graphs])
    graph_of = owners(start)
    shifted = [graph.edge_index + first for graph, first in zip(graphs, start.tolist(), strict=False)]
    joined = Data(
        x=torch.cat([graph.x for graph in graphs]),
        edge_index=torch.cat(shifted, dim=1),
        y=torch.cat([graph.y for graph in graphs]),
        graph_of=graph_of,
    )
    for part in PARTS:
        joined[f"{part}_mask"] = torch.tensor([own == part for own in parts])[graph_of]
    return joined


def is_union(dataset: GraphDataset) -> bool:
    """Whether the one graph of a node task says which of its nodes belong together."""
    return dataset.task == "node" and "graph_of" in dataset.graphs[0]


def pieces(dataset: GraphDataset) -> GraphDataset:
    """The data set of a union with its graphs one by one again, in the order of their nodes; edges keep theirs."""
    (joined,) = dataset.graphs
    order = joined.graph_of[joined.edge_index[0]].argsort(stable=True)
    nodes = torch.bincount(joined.graph_of)
    edges = torch.bincount(joined.graph_of[joined.edge_index[0]], minlength=len(nodes))
    start = running_sum(nodes.tolist())
    by_node = {key: joined[key].split(nodes.tolist()) for key in ("x", "y")}
    by_edge = {"edge_index": joined.edge_index[:, order].split(edges.tolist(), dim=1)}
    graphs = []
    for number, first in enumerate(start[:-1].tolist()):
        graph = Data(x=by_node["x"][number], edge_index=by_edge["edge_index"][number] - first, y=by_node["y"][number])
        graphs.append(graph)
    if joined.get("edge_attr") is not None:
        for graph, rows in zip(graphs, joined.edge_attr[order].split(edges.tolist()), strict=True):
            graph.edge_attr = rows
    return replace(dataset, graphs=graphs)
