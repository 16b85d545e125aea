"""The graphs the layers run on: from the real files when the mirror is there, otherwise generated alike."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch
from torch import Tensor

from mshgnn.errors import UserError


class Shape(NamedTuple):
    """A graph: its edges ``[2, M]``, how many nodes, and where it comes from (``"files"`` or ``"generated"``)."""

    name: str
    num_nodes: int
    edge_index: Tensor
    source: str


class _Size(NamedTuple):
    """What a generated graph copies: graphs in the batch, and nodes and directed edges of the whole."""

    dataset: str
    num_graphs: int
    num_nodes: int
    num_edges: int


SIZES = {
    "Physics": _Size("Physics", 1, 34_493, 495_924),
    "COLLAB": _Size("COLLAB", 32, 2_384, 157_248),
    "molecules": _Size("NCI1", 128, 3_820, 8_267),
    "ten nodes": _Size("", 1, 10, 30),
}


def check_shape(name: str) -> None:
    """Raise ``UserError`` unless there is such a shape."""
    if name not in SIZES:
        raise UserError(f"shape must be one of {', '.join(SIZES)}, got {name!r}")


def load_shape(name: str) -> Shape:
    """``"Physics"`` (one graph), ``"COLLAB"`` (a batch of 32), ``"molecules"`` (128 of NCI1) or ``"ten nodes"``."""
    check_shape(name)
    if SIZES[name].dataset and os.environ.get("MSHGNN_MIRROR"):
        return _from_files(name, SIZES[name])
    return _generated(name, SIZES[name])


def _from_files(name: str, size: _Size) -> Shape:
    from mshgnn.data import load

    graphs = load(size.dataset).graphs
    parts, offset = [], 0
    for index in _typical([graph.edge_index.size(1) for graph in graphs], size.num_graphs):
        graph = graphs[index]
        parts.append(graph.edge_index + offset)
        offset += int(graph.num_nodes)
    return Shape(name, offset, torch.cat(parts, dim=1).contiguous(), "files")


def _typical(edges: list[int], count: int) -> list[int]:
    """Of a hundred random batches the one whose number of edges is nearest to the average batch's."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.tensor(edges, dtype=torch.float64)
    batches = [torch.randperm(len(edges), generator=generator)[:count] for _ in range(100)]
    best = min(batches, key=lambda batch: abs(float(counts[batch].mean() - counts.mean())))
    chosen: list[int] = best.tolist()
    return chosen


def _generated(name: str, size: _Size) -> Shape:
    """Every graph of the batch equally large; each edge in both directions; senders drawn evenly."""
    generator = torch.Generator().manual_seed(0)
    nodes, half = size.num_nodes // size.num_graphs, size.num_edges // 2
    first = torch.randint(size.num_graphs, (half,), generator=generator) * nodes
    ends = torch.stack([first + torch.randint(nodes, (half,), generator=generator) for _ in range(2)])
    edge_index = torch.cat([ends, ends.flip(0)], dim=1)
    return Shape(name, nodes * size.num_graphs, edge_index, "generated")
