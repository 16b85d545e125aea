"""The structure of a batch that came without it: its graphs are taken apart, and what they give is put in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from mshgnn.errors import UserError
from mshgnn.structure.kind import Structure, structure_of_graphs
from mshgnn.structure.ragged import EDGE, NODE, running_sum


def structure_of_batch(
    kinds: Sequence[Structure],
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor,
    batch_size: int,
    edge_attr: Tensor | None = None,
) -> dict[str, Tensor]:
    """What :meth:`PackedStructure.batch` gives for these graphs, whatever the order of their nodes and edges.

    Args:
        kinds: of structure.
        x: node features ``[N, d]``.
        edge_index: edges ``[2, M]``.
        batch: graph of every node ``[N]``, in any order.
        batch_size: number of graphs.
        edge_attr: edge features ``[M, e]``.
    """
    device = x.device
    edges, owner = edge_index.cpu(), batch.cpu()
    of_edge = owner[edges[1]]
    if not torch.equal(owner[edges[0]], of_edge):
        raise UserError("edge_index has an edge between two graphs of batch")
    order = {NODE: owner.argsort(stable=True), EDGE: of_edge.argsort(stable=True)}
    sizes = {NODE: torch.bincount(owner, minlength=batch_size), EDGE: torch.bincount(of_edge, minlength=batch_size)}
    place = torch.empty_like(owner)
    place[order[NODE]] = torch.arange(len(owner))
    local = place[edges[:, order[EDGE]]] - running_sum(sizes[NODE].tolist())[of_edge[order[EDGE]]]

    parts = [
        Data(edge_index=part, num_nodes=count)
        for part, count in zip(torch.split(local, sizes[EDGE].tolist(), dim=1), sizes[NODE].tolist(), strict=True)
    ]
    if any(kind.sees_features for kind in kinds):
        dense = (x if x.layout == torch.strided else x.to_dense()).detach().cpu()[order[NODE]]
        rows = None if edge_attr is None else torch.split(edge_attr.detach().cpu()[order[EDGE]], sizes[EDGE].tolist())
        for position, (part, features) in enumerate(zip(parts, torch.split(dense, sizes[NODE].tolist()), strict=True)):
            part.x = features
            if rows is not None:
                part.edge_attr = rows[position]
    if not parts:  # of no graph at all there is nothing, but in the right shape
        nothing = Data(x=x[:0], edge_index=edges, edge_attr=edge_attr, num_nodes=0)
        packed = structure_of_graphs(kinds, [nothing]).take(torch.empty(0, dtype=torch.long))
    else:
        packed = structure_of_graphs(kinds, parts)

    made = packed.batch(0, batch_size)
    for name, ragged in packed.tensors.items():
        values = made[name]
        if ragged.points_to in order and values.numel():
            numbers = order[ragged.points_to]
            values = torch.where(values < 0, values, numbers[values.clamp(min=0)].to(values.dtype))
        if ragged.rows in order:
            values = torch.empty_like(values).index_copy_(0, order[ragged.rows], values)
        made[name] = values
    return {name: values.to(device) for name, values in made.items()}
