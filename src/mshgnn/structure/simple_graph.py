"""A graph as networkx sees it, for structure that networkx finds."""

from __future__ import annotations

import networkx as nx
from torch_geometric.data import Data


def simple_graph(graph: Data) -> nx.Graph:
    """The undirected graph of the nodes ``0, 1, ...`` without loops and repeated edges."""
    made = nx.Graph()
    made.add_nodes_from(range(int(graph.num_nodes)))
    made.add_edges_from((u, v) for u, v in graph.edge_index.t().tolist() if u != v)
    return made
