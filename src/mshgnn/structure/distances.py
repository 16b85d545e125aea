"""Lengths of shortest paths between all nodes of a graph."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from mshgnn.structure.kind import Cost, Structure
from mshgnn.structure.ragged import Ragged

ROWS = 512
"""How many nodes' distances are computed at once: scipy gives eight bytes for each, of which one is kept."""


def distances(longest: int) -> Structure:
    """``distance`` uint8, one row per pair of nodes, by receiver: edges on the shortest path from sender to receiver.

    Longer paths than ``longest`` (at most 254) count as that long; ``longest + 1`` marks a sender out of reach.
    """
    return Structure(f"distances-{longest}", partial(_distances, longest=longest), "N (N + M) steps, N² bytes", _cost)


def _distances(graph: Data, longest: int) -> dict[str, Ragged]:
    nodes = graph.num_nodes
    sender, receiver = graph.edge_index.numpy()
    edges = csr_array((np.ones(len(sender)), (receiver, sender)), shape=(nodes, nodes))
    found = torch.empty(nodes, nodes, dtype=torch.uint8)
    for low in range(0, nodes, ROWS):
        rows = np.arange(low, min(low + ROWS, nodes))
        steps = dijkstra(edges, unweighted=True, indices=rows)
        capped = np.where(np.isinf(steps), longest + 1, np.minimum(steps, longest))
        found[low : low + len(rows)] = torch.from_numpy(capped.astype(np.uint8))
    return {"distance": Ragged(found.flatten(), "pair")}


def _cost(nodes: int, edges: int) -> Cost:
    return Cost(nodes**2, 17 * ROWS * nodes)
