"""A kind of structure, and computing it for many graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

from torch_geometric.data import Data

from mshgnn.machine import check_memory
from mshgnn.structure.ragged import PackedStructure, Ragged


class Cost(NamedTuple):
    """Bytes for one graph: what stays, and what is needed besides while it is computed."""

    kept: int
    work: int = 0


@dataclass(frozen=True)
class Structure:
    """What a model needs of a graph beyond features and edges: eigenvectors, distances, cells, counts.

    Args:
        name: of the kind with its parameters, such as ``"distances-20"``: kept results are found by it, so a change of
            what is computed changes it.
        compute: the tensors of one graph, by name; also of a graph without edges or nodes. It sees ``edge_index`` and
            ``num_nodes``, never a target, and gives the same for the same graph. Parameters are bound by
            ``functools.partial``, which can be copied and sent to other processes.
        grows: what time and memory grow with, for pages; N nodes, M edges.
        cost: bytes for a graph of so many nodes and edges, where they are more than linear.
        sees_features: whether ``compute`` also sees ``x`` and ``edge_attr``.
    """

    name: str
    compute: Callable[[Data], Mapping[str, Ragged]]
    grows: str = "N + M"
    cost: Callable[[int, int], Cost] | None = None
    sees_features: bool = False

    def bare(self, graph: Data) -> Data:
        """The part of a graph that ``compute`` may see."""
        seen = Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)
        if self.sees_features:
            seen.x = graph.x
            if graph.edge_attr is not None:
                seen.edge_attr = graph.edge_attr
        return seen

    def of_graphs(self, graphs: Sequence[Data]) -> PackedStructure:
        """The structure of at least one graph; too much memory is refused before anything is computed."""
        nodes = [int(graph.num_nodes) for graph in graphs]
        edges = [int(graph.edge_index.size(1)) for graph in graphs]
        if self.cost is not None:
            costs = [self.cost(*size) for size in zip(nodes, edges, strict=True)]
            check_memory(
                f"{self.name} of {max(nodes):,} nodes"
                + (f" at most, {len(graphs):,} graphs" if len(graphs) > 1 else ""),
                sum(cost.kept for cost in costs) + max(cost.work for cost in costs),
            )
        made: list[Mapping[str, Ragged]] = []
        kept = 0
        for graph in graphs:
            made.append(self.compute(self.bare(graph)))
            kept += sum(ragged.values.nbytes for ragged in made[-1].values())
            # How many cells or paths graphs have shows one by one; all are then laid end to end, a second copy.
            check_memory(f"{self.name} of the first {len(made):,} of {len(graphs):,} graphs", 2 * kept)
        return PackedStructure.pack(made, nodes, edges)


def structure_of_graphs(kinds: Sequence[Structure], graphs: Sequence[Data]) -> PackedStructure:
    """Several kinds of structure of the same graphs."""
    return reduce(or_, (kind.of_graphs(graphs) for kind in kinds))
