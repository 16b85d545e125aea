r"""Eigenvalues and eigenvectors of a graph: the lowest of :math:`L`, or all.

:math:`L = I - D^{-1/2} A D^{-1/2}` of the undirected simple graph without loops, :math:`D` at least 1;
:math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`. Eigenvectors are determined up to their sign, and up to a
rotation where an eigenvalue is multiple.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import eigsh
from torch_geometric.data import Data

from mshgnn.structure.kind import Cost, Structure
from mshgnn.structure.ragged import Ragged

DENSE_NODES = 2_000
"""Up to so many nodes all eigenvectors are computed, and the lowest taken."""

LOWEST = f"N³ up to {DENSE_NODES:,} nodes, then about N + M"

Operator = Literal["laplacian", "adjacency"]


def lowest_eigenvectors(count: int) -> Structure:
    """``eigenvector`` ``[N, count]``, per node, and ``eigenvalue`` ``[1, count]``, per graph: the lowest of ``L``.

    The trivial one is among them. A graph of fewer nodes has NaN in the columns that are missing.
    """
    return Structure(f"lowest-eigenvectors-{count}", partial(_lowest, count=count), LOWEST, _cost_of_lowest)


def full_spectrum(operator: Operator) -> Structure:
    """``eigenbasis`` ``[N^2]``, one row per node and eigenvector, and ``frequency`` ``[N]``: all of one operator."""
    return Structure(f"spectrum-{operator}", partial(_full, operator=operator), "N³ steps, 28 N² bytes", _cost_of_full)


def _lowest(graph: Data, count: int) -> dict[str, Ragged]:
    nodes = graph.num_nodes
    found = min(count, nodes)
    if nodes <= max(DENSE_NODES, 2 * count):
        values, vectors = np.linalg.eigh(_operator(graph, "laplacian").toarray())
    else:
        # The largest of 2 I - L are quicker to find than the lowest of L. A fixed start makes a second run equal.
        mirrored = 2 * eye_array(nodes) - _operator(graph, "laplacian")
        values, vectors = eigsh(mirrored, k=count, which="LA", v0=np.linspace(0.5, 1.5, nodes))
        values, vectors = 2 - values[::-1], vectors[:, ::-1]
    eigenvector, eigenvalue = torch.full((nodes, count), torch.nan), torch.full((1, count), torch.nan)
    eigenvector[:, :found] = torch.from_numpy(vectors[:, :found].astype(np.float32))
    eigenvalue[0, :found] = torch.from_numpy(values[:found].clip(0, 2).astype(np.float32))
    return {"eigenvector": Ragged(eigenvector, "node"), "eigenvalue": Ragged(eigenvalue, "graph")}


def _full(graph: Data, operator: Operator) -> dict[str, Ragged]:
    values, vectors = np.linalg.eigh(_operator(graph, operator).toarray())
    basis, frequency = (torch.from_numpy(found.astype(np.float32)) for found in (vectors, values))
    return {"eigenbasis": Ragged(basis.flatten(), "pair"), "frequency": Ragged(frequency, "node")}


def _operator(graph: Data, operator: Operator) -> csr_array:
    """``L`` or the normalised adjacency with loops, ``[N, N]``."""
    nodes = graph.num_nodes
    sender, receiver = graph.edge_index.numpy()
    kept = sender != receiver
    ends = (np.concatenate([sender[kept], receiver[kept]]), np.concatenate([receiver[kept], sender[kept]]))
    simple = coo_array((np.ones(len(ends[0])), ends), shape=(nodes, nodes)).tocsr()
    simple.data[:] = 1  # several edges between two nodes are one
    if operator == "adjacency":
        simple = (simple + eye_array(nodes)).tocsr()
    degree: npt.NDArray[np.float64] = simple.sum(axis=1)
    root = diags_array(np.maximum(degree, 1) ** -0.5)
    normal = root @ simple @ root
    return csr_array(normal if operator == "adjacency" else eye_array(nodes) - normal)


def _cost_of_full(nodes: int, edges: int) -> Cost:
    return Cost(4 * nodes**2, 24 * nodes**2)


def _cost_of_lowest(nodes: int, edges: int) -> Cost:
    return Cost(0, 24 * min(nodes, DENSE_NODES) ** 2)
