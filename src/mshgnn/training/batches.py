"""Batches without a collater: graphs are packed end to end once, then gathered and sliced.

PyG's collater visits every graph of every batch in Python. Here a fold's graphs lie in one set of tensors;
a shuffled epoch is a few gathers, a batch is a slice. Edges are sorted by receiver once, so that a CSR form
costs no further sorting.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.data.dataset import WEIGHT
from mshgnn.structure.neighbourhood import Neighbourhood
from mshgnn.structure.ragged import PackedStructure, gather_rows, owners, running_sum

BATCHES_PER_GATHER = 16
"""How many training batches are gathered at once: amortises the gather, bounds the memory."""

EVALUATION_ELEMENTS = 8_000
"""Nodes plus edges at which an evaluation batch is full: the quickest size measured, it fits the cache."""

SPARSE_WIDTH, SPARSE_DENSITY = 128, 0.05
"""From this width on, and below this share of non-zero entries, a sparse feature matrix pays."""


@dataclass(frozen=True)
class GraphBatch:
    """What one forward pass takes. ``batch`` is ``None`` where the whole graph of a node task is the only batch.

    ``y`` has one row per graph (or node): ``[G]``, or ``[G, T]`` where items have several targets. ``structure`` is
    what the model asked for, by name, and else empty.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor | None
    num_graphs: int
    y: Tensor
    structure: Mapping[str, Tensor] = field(default_factory=dict)
    weights: Tensor | None = None
    """How much each row of ``y`` counts in the training loss; None: all the same."""
    neighbourhood: Neighbourhood | None = None
    """What each layer computes, where the batch is a part of a large graph; ``y`` is then that of its targets."""

    def to(self, device: torch.device) -> GraphBatch:
        """The same batch on a device."""
        if self.x.device == device:
            return self
        return GraphBatch(
            x=self.x.to(device),
            edge_index=self.edge_index.to(device),
            edge_attr=None if self.edge_attr is None else self.edge_attr.to(device),
            batch=None if self.batch is None else self.batch.to(device),
            num_graphs=self.num_graphs,
            y=self.y.to(device),
            structure={name: tensor.to(device) for name, tensor in self.structure.items()},
            weights=None if self.weights is None else self.weights.to(device),
            neighbourhood=None if self.neighbourhood is None else self.neighbourhood.to(device),
        )


@dataclass(frozen=True)
class PackedGraphs:
    """Graphs laid end to end; edge indices count from each graph's own first node.

    ``y`` is ``[G]`` or ``[G, T]``, and with ``node_targets`` ``[N]`` or ``[N, T]``; ``weights`` has one for each row.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    y: Tensor
    node_start: Tensor
    edge_start: Tensor
    structure: PackedStructure | None = None
    node_targets: bool = False
    weights: Tensor | None = None

    @classmethod
    def pack(
        cls,
        graphs: Sequence[Data],
        *,
        sparse: bool = False,
        structure: PackedStructure | None = None,
        node_targets: bool = False,
    ) -> PackedGraphs:
        """Lay the graphs end to end, edges sorted by receiver within each graph; ``structure`` is theirs.

        With ``sparse``, wide features that are mostly zero (bags of words, one-hot degrees) become sparse CSR.
        """
        node_start = running_sum([graph.num_nodes for graph in graphs])
        edge_start = running_sum([graph.edge_index.size(1) for graph in graphs])
        edge_index = torch.cat([graph.edge_index for graph in graphs], dim=1)
        order = (edge_index[1] + node_start[owners(edge_start)]).argsort(stable=True)
        edge_attr = None
        if all(graph.edge_attr is not None for graph in graphs):
            edge_attr = torch.cat([graph.edge_attr for graph in graphs])[order]
        weights = None
        if all(graph.get(WEIGHT) is not None for graph in graphs):
            weights = torch.cat([graph[WEIGHT] for graph in graphs])
        x = torch.cat([graph.x for graph in graphs])
        x = x.float() if x.dtype == torch.float16 else x  # as a graph on the disk may have it
        return cls(
            x=_compressed(x) if sparse else x,
            edge_index=edge_index[:, order],
            edge_attr=edge_attr,
            y=torch.cat([graph.y for graph in graphs]),
            node_start=node_start,
            edge_start=edge_start,
            structure=None if structure is None else structure.with_edges(order),
            node_targets=node_targets,
            weights=weights,
        )

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.node_start) - 1

    def take(self, chosen: Tensor) -> PackedGraphs:
        """The chosen graphs, in the order given."""
        nodes, node_start = gather_rows(self.node_start, chosen)
        edges, edge_start = gather_rows(self.edge_start, chosen)
        rows = nodes if self.node_targets else chosen
        return PackedGraphs(
            x=take_rows(self.x, nodes),
            edge_index=self.edge_index[:, edges],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges],
            y=self.y[rows],
            node_start=node_start,
            edge_start=edge_start,
            structure=None if self.structure is None else self.structure.take(chosen),
            node_targets=self.node_targets,
            weights=None if self.weights is None else self.weights[rows],
        )

    def batches(self, bounds: Sequence[int]) -> Iterator[GraphBatch]:
        """Cut at ``bounds`` (0, ..., number of graphs); features are views, indices are shifted."""
        owner = owners(self.node_start)
        shifted = self.edge_index + torch.repeat_interleave(self.node_start[:-1], self.edge_start.diff())
        for first, last in pairwise(bounds):
            node_low, node_high = int(self.node_start[first]), int(self.node_start[last])
            edge_low, edge_high = int(self.edge_start[first]), int(self.edge_start[last])
            rows = slice(node_low, node_high) if self.node_targets else slice(first, last)
            yield GraphBatch(
                x=_slice_rows(self.x, node_low, node_high),
                edge_index=shifted[:, edge_low:edge_high] - node_low,
                edge_attr=None if self.edge_attr is None else self.edge_attr[edge_low:edge_high],
                batch=owner[node_low:node_high] - first,
                num_graphs=last - first,
                y=self.y[rows],
                structure={} if self.structure is None else self.structure.batch(first, last),
                weights=None if self.weights is None else self.weights[rows],
            )

    def evaluation_batches(self, batch_size: int) -> list[GraphBatch]:
        """All graphs in their order: batches of ``batch_size`` graphs, or more up to ``EVALUATION_ELEMENTS``."""
        ends = (self.node_start + self.edge_start).tolist()
        bounds = [0]
        for graph in range(1, len(self)):
            full = ends[graph + 1] - ends[bounds[-1]] > EVALUATION_ELEMENTS
            if full and graph - bounds[-1] >= batch_size:
                bounds.append(graph)
        return list(self.batches([*bounds, len(self)])) if len(self) else []

    def shuffled_batches(
        self, batch_size: int, generator: torch.Generator, share: Callable[[Tensor], Tensor] = lambda group: group
    ) -> Iterator[GraphBatch]:
        """One epoch: a new order, batches of ``batch_size`` at most and of almost equal size; of each its ``share``.

        Equal sizes keep a last batch of a single graph, which batch norm cannot take, from appearing.
        """
        order = torch.randperm(len(self), generator=generator)
        count = -(-len(self) // batch_size)
        groups = [share(group) for group in torch.tensor_split(order, count)]
        for start in range(0, count, BATCHES_PER_GATHER):
            gathered = groups[start : start + BATCHES_PER_GATHER]
            bounds = running_sum([len(group) for group in gathered]).tolist()
            yield from self.take(torch.cat(gathered)).batches(bounds)


def _compressed(x: Tensor) -> Tensor:
    """Sparse CSR where that pays, else the features as they are."""
    if x.size(1) < SPARSE_WIDTH or int(x.count_nonzero()) >= SPARSE_DENSITY * x.numel():
        return x
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return x.to_sparse_csr()


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """The chosen rows of features, dense or sparse CSR."""
    if x.layout == torch.strided:
        return x[rows]
    entries, starts = gather_rows(x.crow_indices(), rows)
    return _csr(starts, x.col_indices()[entries], x.values()[entries], x.size(1))


def _slice_rows(x: Tensor, low: int, high: int) -> Tensor:
    if x.layout == torch.strided:
        return x[low:high]
    starts = x.crow_indices()[low : high + 1]
    first, last = int(starts[0]), int(starts[-1])
    return _csr(starts - first, x.col_indices()[first:last], x.values()[first:last], x.size(1))


def _csr(starts: Tensor, columns: Tensor, values: Tensor, width: int) -> Tensor:
    size = (len(starts) - 1, width)
    return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


def whole_graph(graph: Data, *, sparse: bool, structure: PackedStructure | None = None) -> GraphBatch:
    """The one batch of a node task, edges sorted by receiver."""
    packed = PackedGraphs.pack([graph], sparse=sparse, structure=structure)
    made = {} if packed.structure is None else packed.structure.batch(0, 1)
    return GraphBatch(packed.x, packed.edge_index, packed.edge_attr, None, 1, packed.y, made, packed.weights)
