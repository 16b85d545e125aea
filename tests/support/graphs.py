"""Graphs of networkx that several tests take."""

from __future__ import annotations

import networkx as nx
import torch
from torch_geometric.data import Data

DECALIN = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
BICYCLOPENTYL = nx.Graph([*nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)).edges, (0, 5)])
"""It and decalin are alike to 1-WL."""

ROOK = nx.line_graph(nx.complete_bipartite_graph(4, 4))
_STEPS = [(0, 1), (1, 0), (1, 1)]
SHRIKHANDE = nx.Graph(((a, b), ((a + s) % 4, (b + t) % 4)) for a in range(4) for b in range(4) for s, t in _STEPS)
"""It and the rook's graph are strongly regular with the same parameters."""


def data(graph: nx.Graph) -> Data:
    """Every edge in both directions, and no features."""
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=len(graph))
