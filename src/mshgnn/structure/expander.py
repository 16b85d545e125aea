r"""Random regular graphs over the nodes: few edges, and any two nodes a few steps apart."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from torch_geometric.data import Data

from mshgnn.structure.kind import Structure
from mshgnn.structure.ragged import Ragged

COMPLETE_NODES = 10
"""Up to so many nodes every pair is joined."""
TRIES = 100
DENSE_NODES = 200


def expander(permutations: int, seed: int = 0) -> Structure:
    r"""``expander`` ``[E', 2]``, sender and receiver, rows of a list of its own: ``permutations`` random permutations
    :math:`\pi` give the edges :math:`(i, \pi(i))` and their reverse.

    Every node has degree :math:`2r`, loops and multiple edges counted. The graph is drawn again until the second
    eigenvalue of its Laplacian is at least :math:`2r - 2\sqrt{2r - 1} - 0.1`, or the best of 100 is taken. Graphs of
    equally many nodes and edges get the same one.
    """
    return Structure(f"expander-{permutations}-{seed}", partial(_expander, permutations=permutations, seed=seed), "N")


def _expander(graph: Data, permutations: int, seed: int) -> dict[str, Ragged]:
    nodes = graph.num_nodes
    here = np.arange(nodes)
    if nodes <= COMPLETE_NODES:
        sender, receiver = (ends.flatten() for ends in np.meshgrid(here, here))
        pairs = np.stack([sender, receiver], axis=1)[sender != receiver]
    else:
        random = np.random.default_rng([seed, nodes, graph.edge_index.size(1)])
        enough = 2 * permutations - 2 * math.sqrt(2 * permutations - 1) - 0.1
        best, pairs = -1.0, np.empty((0, 2), dtype=np.int64)
        for _ in range(TRIES):
            there = np.concatenate([random.permutation(nodes) for _ in range(permutations)])
            once = np.stack([np.tile(here, permutations), there], axis=1)
            drawn = np.concatenate([once, once[:, ::-1]])
            gap = second_eigenvalue(drawn, nodes)
            if gap > best:
                best, pairs = gap, drawn
            if gap >= enough:
                break
    return {"expander": Ragged(torch.from_numpy(pairs.astype(np.int64)), "expander", points_to="node")}


def second_eigenvalue(pairs: npt.NDArray[np.int64], nodes: int) -> float:
    """The second eigenvalue of the Laplacian of a regular graph, both directions of every edge given."""
    adjacency = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes))
    if nodes <= DENSE_NODES:
        values = np.linalg.eigvalsh(adjacency.toarray())
    else:
        values = np.sort(eigsh(adjacency, k=2, which="LA", return_eigenvectors=False, v0=np.linspace(0.5, 1.5, nodes)))
    return float(len(pairs) / nodes - values[-2])
