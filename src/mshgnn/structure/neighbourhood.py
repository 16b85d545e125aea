"""A part of a large graph that is enough for some of its nodes, in the order in which layers need it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Neighbourhood(NamedTuple):
    """How much of a part of a graph each layer computes, for a model of ``L`` layers.

    The nodes of the part lie in the order of their hops from the targets, which come first; its edges are sorted by
    receiver. The first ``nodes[k]`` nodes are at most ``k`` hops away, and the first ``edges[k]`` edges run to them.
    """

    nodes: tuple[int, ...]
    """``L + 1`` counts."""
    edges: tuple[int, ...]
    """``L`` counts."""
    degree: Tensor
    """Incoming edges of every receiver in the whole graph, of which the part may hold a sample ``[nodes[-2]]``."""

    def of_layer(self, number: int) -> tuple[int, int]:
        """Receivers and edges of a layer, counted from 0: the last has the targets alone."""
        hops = len(self.edges) - 1 - number
        return self.nodes[hops], self.edges[hops]

    def to(self, device: torch.device) -> Neighbourhood:
        """The same on a device."""
        return self._replace(degree=self.degree.to(device))


def closed(num_nodes: int, num_edges: int, degree: Tensor, layers: int) -> Neighbourhood:
    """A part all of whose nodes are targets: every layer computes all of it."""
    return Neighbourhood((num_nodes,) * (layers + 1), (num_edges,) * layers, degree)
