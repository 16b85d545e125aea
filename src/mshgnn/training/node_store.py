"""One large graph of which parts are taken: in memory, or mapped from the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.mapped import MAPPED, MappedArray
from mshgnn.data.readers.on_disk import RECEIVER_START
from mshgnn.data.sampling import Ints, Sampler, Senders, Subgraph
from mshgnn.machine import check_memory
from mshgnn.structure.neighbourhood import Neighbourhood
from mshgnn.training.batches import GraphBatch, take_rows, whole_graph


@dataclass(frozen=True)
class NodeStore:
    """Features, targets and edges in receiver order; ``sender`` and ``rowptr`` are those of :class:`Sampler`."""

    x: Tensor
    y: Tensor
    rowptr: Ints
    sender: Senders
    edge_attr: Tensor | None = None
    weights: Tensor | None = None
    files: Sequence[MappedArray] = ()
    """Of a graph on the disk: features and edges."""

    @classmethod
    def of(cls, graph: Data, *, sparse: bool = False) -> NodeStore:
        """The graph of a node task; one on the disk stays there."""
        if MAPPED in graph:
            rowptr, sender = graph[RECEIVER_START].numpy(), graph.edge_index[0].numpy()
            return cls(graph.x, graph.y, rowptr, sender, files=graph[MAPPED])
        batch = whole_graph(graph, sparse=sparse)
        sender, receiver = batch.edge_index.numpy()
        rowptr = np.zeros(batch.x.size(0) + 1, dtype=np.int64)
        np.cumsum(np.bincount(receiver, minlength=batch.x.size(0)), out=rowptr[1:])
        return cls(batch.x, batch.y, rowptr, sender, batch.edge_attr, batch.weights)

    def __len__(self) -> int:
        """Number of nodes."""
        return self.rowptr.size - 1

    def sampler(self, *, replace: bool = False, seed: int = 0) -> Sampler:
        """What takes parts of the graph."""
        return Sampler(self.rowptr, self.sender, replace=replace, seed=seed)

    def features(self, nodes: Ints) -> Tensor:
        """The features of some nodes ``[n, d]``; of a graph on the disk nothing else stays in memory."""
        rows = torch.from_numpy(self.files[0].take(nodes)) if self.files else take_rows(self.x, torch.from_numpy(nodes))
        self.forget()
        return rows if rows.layout != torch.strided else rows.float()

    def edges_to(self, begin: int, end: int) -> tuple[Tensor, Tensor | None]:
        """The edges ``[2, m]`` to a range of receivers, who count from 0, and their features.

        The senders keep their numbers in the whole graph.
        """
        first, last = self.rowptr[begin], self.rowptr[end]
        sender = self.sender[first:last]
        receiver = np.repeat(np.arange(end - begin, dtype=sender.dtype), np.diff(self.rowptr[begin : end + 1]))
        edges = torch.from_numpy(np.stack([sender, receiver]))
        return edges, None if self.edge_attr is None else self.edge_attr[first:last]

    def edge_features(self, part: Subgraph) -> Tensor | None:
        """The features of a part's edges."""
        return None if self.edge_attr is None else self.edge_attr[torch.from_numpy(part.position)]

    def batch(self, part: Subgraph, neighbourhood: Neighbourhood) -> GraphBatch:
        """A part as a model takes it, with the targets of its target nodes; refused where it cannot fit."""
        if self.x.layout == torch.strided:
            step = f"a step on {part.nodes.size:,} nodes of {self.x.size(1):,} features"
            check_memory(f"{step}, unless nodes_per_step is lower,", 4 * part.nodes.size * self.x.size(1))
        targets = torch.from_numpy(part.nodes[: neighbourhood.nodes[0]])
        return GraphBatch(
            self.features(part.nodes),
            edges_of(part),
            self.edge_features(part),
            None,
            1,
            self.y[targets],
            neighbourhood=neighbourhood,
        )

    def degree(self, nodes: Ints) -> Tensor:
        """How many senders some nodes have ``[n]``."""
        return torch.from_numpy(self.rowptr[nodes + 1] - self.rowptr[nodes])

    def chunks(self, elements: int) -> Iterator[tuple[int, int]]:
        """Ranges of receivers that have so many nodes and edges together, or are a single one."""
        ends = self.rowptr + np.arange(self.rowptr.size)
        first = 0
        while first < len(self):
            last = int(np.searchsorted(ends, ends[first] + elements, side="right")) - 1
            yield first, (first := min(max(last, first + 1), len(self)))

    def forget(self) -> None:
        """Give back the pages of files read so far."""
        for file in self.files:
            file.forget()


def edges_of(part: Subgraph) -> Tensor:
    """The edges of a part ``[2, m]``."""
    return torch.from_numpy(np.stack([part.sender, part.receiver]))
