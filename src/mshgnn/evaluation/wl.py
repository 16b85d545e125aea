"""1-WL colours of nodes and graphs, vectorised and canonical: equal colours mean the same in every call.

A colour is 128 bits of hash in two lanes. One round replaces a node's colour by a hash of itself and of the
multiset of its senders' colours; a multiset is hashed as the sum of its mixed members, which needs no sorting
and no comparison between graphs. Different colours meet by chance with probability 2^-100 or so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.errors import UserError

Initial = Literal["features", "degree"]
Colours = NDArray[np.uint64]
EDGES_AT_ONCE = 4_000_000


class Colouring(NamedTuple):
    """Colours after one round: nodes ``[N, 2]``, and graphs ``[G, 2]`` by the multiset of their nodes' colours."""

    nodes: Colours
    graphs: Colours


def wl_colourings(graphs: Sequence[Data], rounds: int, initial: Initial = "features") -> list[Colouring]:
    """The colourings after ``0, 1, ..., rounds`` rounds, nodes of all graphs end to end.

    Round 0 colours a node by its feature row, or by its number of senders.
    """
    if rounds < 0:
        raise UserError(f"rounds must not be negative, got {rounds}")
    parts = [_colour_chunk(chunk, rounds, initial) for chunk in _chunks(graphs)]
    return [
        Colouring(
            np.concatenate([part[round_].nodes for part in parts]),
            np.concatenate([part[round_].graphs for part in parts]),
        )
        for round_ in range(rounds + 1)
    ]


def class_ids(colours: Colours) -> NDArray[np.int64]:
    """Number the different colours: two rows have the same number when they are equal."""
    order = np.lexsort((colours[:, 1], colours[:, 0]))
    ordered = colours[order]
    new = np.ones(len(colours), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    ids = np.empty(len(colours), dtype=np.int64)
    ids[order] = np.cumsum(new) - 1
    return ids


def has_constant_features(graphs: Sequence[Data]) -> bool:
    """Whether all nodes of all graphs have the same feature row."""
    first = graphs[0].x[:1]
    return all(bool((graph.x == first).all()) for graph in graphs)


def _chunks(graphs: Sequence[Data]) -> Iterator[Sequence[Data]]:
    """Runs of graphs with a bounded number of edges, so that memory stays bounded too."""
    if not graphs:
        raise UserError("there are no graphs to colour")
    start, edges = 0, 0
    for index, graph in enumerate(graphs):
        edges += graph.edge_index.shape[1]
        if edges > EDGES_AT_ONCE:
            yield graphs[start : index + 1]
            start, edges = index + 1, 0
    if start < len(graphs):
        yield graphs[start:]


def _colour_chunk(graphs: Sequence[Data], rounds: int, initial: Initial) -> list[Colouring]:
    sizes = torch.tensor([graph.num_nodes for graph in graphs])
    total, starts = int(sizes.sum()), sizes.cumsum(0) - sizes
    edges = torch.cat([graph.edge_index + start for graph, start in zip(graphs, starts, strict=True)], dim=1)
    sender, receiver = edges
    owner = torch.repeat_interleave(torch.arange(len(graphs)), sizes)

    if initial == "features":
        colours = np.concatenate([_feature_colours(graph.x) for graph in graphs])
    else:
        degree = torch.bincount(receiver, minlength=total).numpy().astype(np.uint64)
        colours = _mix(np.stack([degree, degree], axis=1))
    colourings = []
    for round_ in range(rounds + 1):
        if round_:
            heard = _multiset_sum(colours, sender, receiver, total)
            colours = _mix(_mix(colours) + heard)
        whole = _multiset_sum(colours, torch.arange(total), owner, len(graphs))
        colourings.append(Colouring(colours, _mix(whole)))
    return colourings


def _multiset_sum(colours: Colours, member: Tensor, group: Tensor, groups: int) -> Colours:
    """The sum over every group of its members' mixed colours, wrapping at 64 bits: ``[groups, 2]``."""
    # Mixed twice: a node's own colour enters a round mixed once and must not look like a neighbour's.
    mixed = _mix(_mix(colours))
    sums = torch.zeros(2, groups, dtype=torch.int64)
    for lane in range(2):
        values = torch.from_numpy(mixed[:, lane].copy().view(np.int64))
        sums[lane].index_add_(0, group, values[member])
    return np.ascontiguousarray(sums.numpy().view(np.uint64).T)


def _feature_colours(x: Tensor) -> Colours:
    """A colour for every feature row, from its non-zero entries alone: rows may be wide but are mostly zero."""
    row, column = x.nonzero(as_tuple=True)
    bits = x[row, column].to(torch.float64).numpy().view(np.uint64)
    place = column.numpy().astype(np.uint64)
    entries = _mix(_mix(np.stack([place, place], axis=1)) + bits[:, None])
    return _mix(_multiset_sum(entries, torch.arange(len(entries)), row, x.shape[0]))


def _mix(values: Colours) -> Colours:
    """A pseudo-random permutation of the 64-bit numbers, a different one for each lane (splitmix64's finish)."""
    mixed = values + np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
