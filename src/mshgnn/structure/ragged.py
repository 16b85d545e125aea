"""Tensors whose rows belong to graphs, in any number per graph: laid end to end, chosen, cut into batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

NODE, EDGE, GRAPH = "node", "edge", "graph"


@dataclass(frozen=True)
class Ragged:
    """A tensor ``[rows, *]`` of one graph, or of several graphs laid end to end.

    ``rows`` says what a row is of: a ``"node"``, an ``"edge"`` (in the order of ``edge_index``), the ``"graph"``, or of
    a list of its own, under any other name: tensors of one list have equally many rows.

    ``points_to`` is for values that are numbers of rows, such as the two ends of an edge: it names the list they point
    into. They count from the graph's own first row and are shifted when graphs are batched; below zero they point
    nowhere and stay.
    """

    values: Tensor
    rows: str
    points_to: str | None = None

    def like(self, values: Tensor) -> Ragged:
        """Other values of the same kind."""
        return Ragged(values, self.rows, self.points_to)


@dataclass(frozen=True)
class PackedStructure:
    """The structure of many graphs, end to end: ``starts[list]`` ``[G + 1]`` says where the rows of a graph begin."""

    tensors: Mapping[str, Ragged]
    starts: Mapping[str, Tensor]

    @classmethod
    def pack(
        cls, graphs: Sequence[Mapping[str, Ragged]], nodes: Sequence[int], edges: Sequence[int]
    ) -> PackedStructure:
        """Lay the structure of graphs with so many nodes and edges end to end."""
        starts = {NODE: running_sum(nodes), EDGE: running_sum(edges), GRAPH: torch.arange(len(graphs) + 1)}
        tensors = {}
        for name, first in graphs[0].items():
            parts = [graph[name].values for graph in graphs]
            for part in parts:
                if part.dtype != first.values.dtype:  # an empty list that became a float, say
                    raise RuntimeError(f"{name}: {part.dtype} in one graph, {first.values.dtype} in another")
            start = running_sum([len(part) for part in parts])
            if not torch.equal(starts.setdefault(first.rows, start), start):
                raise RuntimeError(f"{name}: not one row per {first.rows} of each graph")
            tensors[name] = first.like(torch.cat(parts))
        return cls(tensors, starts)

    def __or__(self, other: PackedStructure) -> PackedStructure:
        """Both structures of the same graphs."""
        if double := self.tensors.keys() & other.tensors.keys():
            raise RuntimeError(f"two structures are called {min(double)!r}")
        for name in self.starts.keys() & other.starts.keys():
            if not torch.equal(self.starts[name], other.starts[name]):
                raise RuntimeError(f"two lists are called {name!r}")
        return PackedStructure({**self.tensors, **other.tensors}, {**self.starts, **other.starts})

    def take(self, chosen: Tensor) -> PackedStructure:
        """The chosen graphs, in the order given."""
        gathered = {name: gather_rows(start, chosen) for name, start in self.starts.items()}
        return PackedStructure(
            {name: ragged.like(ragged.values[gathered[ragged.rows][0]]) for name, ragged in self.tensors.items()},
            {name: start for name, (_, start) in gathered.items()},
        )

    def with_edges(self, order: Tensor) -> PackedStructure:
        """The same where edge ``order[i]`` of all has become edge ``i``; every edge has stayed in its graph."""
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        start, tensors = self.starts[EDGE], {}
        for name, ragged in self.tensors.items():
            values = ragged.values
            if ragged.points_to == EDGE:
                first = _as_rows(torch.repeat_interleave(start[:-1], self.starts[ragged.rows].diff()), values)
                there = place[(values + first).clamp(min=0)] - first if len(place) else values
                values = torch.where(values < 0, values, there)
            tensors[name] = ragged.like(values[order] if ragged.rows == EDGE else values)
        return PackedStructure(tensors, self.starts)

    def batch(self, first: int, last: int) -> dict[str, Tensor]:
        """The graphs from ``first`` to before ``last`` as one, by name: pointers are shifted, the rest are views.

        An own list ``cell`` also has ``cell_ptr`` ``[G + 1]``, where its graphs begin: :func:`owners` makes of it the
        graph of every row.
        """
        made = {}
        for name, ragged in self.tensors.items():
            start = self.starts[ragged.rows]
            values = ragged.values[int(start[first]) : int(start[last])]
            if ragged.points_to is not None:
                target = self.starts[ragged.points_to]
                shift = torch.repeat_interleave(target[first:last] - target[first], start.diff()[first:last])
                values = torch.where(values < 0, values, values + _as_rows(shift, values))
            made[name] = values
        for name, start in self.starts.items():
            if name not in (NODE, EDGE, GRAPH):
                made[f"{name}_ptr"] = start[first : last + 1] - start[first]
        return made


def owners(ptr: Tensor) -> Tensor:
    """The graph of every row, ``[rows]``, of a list whose graphs begin at ``ptr`` ``[G + 1]``."""
    return torch.repeat_interleave(torch.arange(len(ptr) - 1, device=ptr.device), ptr.diff())


def running_sum(counts: Sequence[int]) -> Tensor:
    """Running sums with a leading zero: ``[len(counts) + 1]``."""
    starts = torch.zeros(len(counts) + 1, dtype=torch.long)
    torch.cumsum(torch.tensor(counts, dtype=torch.long), 0, out=starts[1:])
    return starts


def gather_rows(start: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of all rows of the chosen graphs, and where each graph starts among them."""
    counts = start.diff()[chosen]
    new_start = torch.zeros(len(chosen) + 1, dtype=torch.long)
    torch.cumsum(counts, 0, out=new_start[1:])
    shift = torch.repeat_interleave(start[chosen] - new_start[:-1], counts)
    return shift + torch.arange(len(shift)), new_start


def _as_rows(per_row: Tensor, values: Tensor) -> Tensor:
    """``[rows]`` shaped to be added to ``values`` ``[rows, *]``, in its dtype."""
    return per_row.to(values.dtype).view(-1, *[1] * (values.dim() - 1))
