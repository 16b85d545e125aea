r"""Message passing on cell complexes: what SIN, CIN and PIN share (Bodnar et al., 2021).

Every cell has a state, a node, an edge and what lies above them. Dimension ``p`` hears its faces, and the cells with
which it shares a cell above, with weights of its own:

.. math::
    b_\sigma &= \mathrm{MLP}_B\Big(h_\sigma + \sum_{\tau \in \partial \sigma} h_\tau\Big), \qquad
    u_\sigma = \mathrm{MLP}_U\Big(h_\sigma + \sum_{\delta: \sigma \in \partial \delta} \;
    \sum_{\tau \in \partial \delta \setminus \sigma} M(h_\tau, h_\delta)\Big) \\
    h'_\sigma &= \mathrm{ReLU}(\mathrm{BN}(W [u_\sigma \| b_\sigma]))

:math:`M(h_\tau, h_\delta)` is :math:`h_\tau`, or :math:`\mathrm{ReLU}(W' [h_\tau \| h_\delta])` with ``coboundaries``.
A cell starts from the mean or sum of its nodes' features. The states of a dimension are pooled, mapped and added to
those of the others. The complexes are those of :mod:`mshgnn.structure.cells`; what models differ in is which one.

All is ours. The double sum is never written out: every :math:`\delta` adds up all it is sent, and each face gets the
sum without its own part. This is exact and linear in the faces, where the authors list all pairs of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter

from mshgnn.models.memory import check_memory
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.readout import pool_nodes
from mshgnn.nn.structured import StructuredModel
from mshgnn.structure import Structure, owners

Reduce = Literal["sum", "mean"]


@dataclass(frozen=True)
class CellForm:
    """What the published networks on complexes differ in, the complex apart."""

    coboundaries: bool = False
    """Whether a message also tells which cell above it went through."""
    norm: bool = True
    update_layers: int = 2
    """Linear maps of each of the two updates."""
    update_relu: bool = True
    """Whether norm and ReLU follow each of them."""
    combine_relu: bool = True
    jump: bool = True
    """Whether the read-out sees all layers, through maps without bias, or the last alone."""
    map_norm: bool = False
    """Whether norm follows the maps of the read-out: without it and bias a dimension without cells adds 0."""


class CellConv(nn.Module):
    """One layer on one dimension."""

    def __init__(self, in_channels: int, channels: int, form: CellForm, *, is_top: bool) -> None:
        super().__init__()
        self.faces, self.above = (self._update(in_channels, channels, form) for _ in range(2))
        self.message = None
        if form.coboundaries and not is_top:
            self.message = nn.Sequential(nn.Linear(2 * in_channels, in_channels), nn.ReLU())
        self.combine = nn.Sequential(*_linear(2 * channels, channels, form.norm, form.combine_relu))

    @staticmethod
    def _update(in_channels: int, channels: int, form: CellForm) -> nn.Module:
        maps: list[nn.Module] = []
        for layer in range(form.update_layers):
            norm = form.norm and form.update_relu
            maps += _linear(channels if layer else in_channels, channels, norm, form.update_relu)
        return nn.Sequential(*maps)

    def forward(self, h: list[Tensor], p: int, structure: Mapping[str, Tensor]) -> Tensor:
        """The next states ``[cells, channels]`` of dimension ``p`` from those of all dimensions."""
        below, above = h[p], h[p]
        if p:
            cell, face = structure[f"face{p}_cell"], structure[f"face{p}_of"]
            below = below + scatter(h[p - 1][face], cell, dim_size=len(h[p]), reduce="sum")
        if p + 1 < len(h):
            above = above + self.heard_above(
                h[p], h[p + 1], structure[f"face{p + 1}_cell"], structure[f"face{p + 1}_of"]
            )
        combined: Tensor = self.combine(torch.cat([self.above(above), self.faces(below)], dim=-1))
        return combined

    def heard_above(self, h: Tensor, h_above: Tensor, cell: Tensor, face: Tensor) -> Tensor:
        """The sum over all cells above and over their other faces, ``[cells, in_channels]``."""
        sent = h[face]
        if self.message is not None:
            sent = self.message(torch.cat([sent, h_above[cell]], dim=-1))
        total = scatter(sent, cell, dim_size=len(h_above), reduce="sum")
        return scatter(total[cell] - sent, face, dim_size=len(h), reduce="sum")


class CellNetwork(StructuredModel):
    """Layers on a complex, and the sum over dimensions of the mapped pooled states, which a head reads.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        complex_: the kind of complex.
        dimension: of its highest cells.
        hidden_channels: width of the states.
        num_layers: number of layers.
        form: of layers and read-out.
        cell_features: how a cell's first state is made of its nodes' features.
        readout: how states are pooled.
        head_layers: linear maps of the head.
        dropout: share dropped in the head.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        complex_: Structure,
        dimension: int,
        *,
        hidden_channels: int,
        num_layers: int,
        form: CellForm,
        cell_features: Reduce,
        readout: Reduce,
        dropout: float,
        head_layers: int = 1,
    ) -> None:
        super().__init__(in_channels, "graph", (complex_,))
        self.dimension, self.jump, self.cell_features, self.readout = dimension, form.jump, cell_features, readout
        d = hidden_channels
        self.layers = nn.ModuleList(
            nn.ModuleList(
                CellConv(d if layer else in_channels, d, form, is_top=p == dimension) for p in range(dimension + 1)
            )
            for layer in range(num_layers)
        )
        seen = num_layers * d if form.jump else d
        self.maps = nn.ModuleList(
            nn.Sequential(*_linear(seen, 2 * d, form.norm and form.map_norm, True, bias=not form.jump))
            for _ in range(dimension + 1)
        )
        # What the backward pass keeps per cell: inputs and results of two updates with norm and ReLU, and of their
        # combination. Per face: what it sends, with the cell above.
        self.kept = (num_layers * d * (4 * form.update_layers + 6), num_layers * d * 3)
        self.head = make_head(2 * d, d, out_channels, head_layers, dropout)

    def _structured_embedding(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs, structure: Mapping[str, Tensor]
    ) -> Tensor:
        batch, batch_size = graphs
        cells = len(x) + sum(len(structure[f"cell{p}_size"]) for p in range(1, self.dimension + 1))
        faces = sum(len(structure[f"face{p}_of"]) for p in range(1, self.dimension + 1))
        per_cell, per_face = self.kept
        check_memory(
            f"a batch of {cells:,} cells with {faces:,} faces", x.element_size() * (per_cell * cells + per_face * faces)
        )
        h = self.first_states(as_dense(x), structure)
        owner = [batch, *(owners(structure[f"cell{p}_ptr"]) for p in range(1, self.dimension + 1))]
        states: list[list[Tensor]] = [[] for _ in h]
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)
            h = [conv(h, p, structure) for p, conv in enumerate(layer)]
            for p, state in enumerate(h):
                states[p] = [*states[p], state] if self.jump else [state]
        pooled = [
            pool_nodes(torch.cat(seen, dim=-1), cell_owner, batch_size, self.readout)
            for seen, cell_owner in zip(states, owner, strict=True)
        ]
        mapped: list[Tensor] = [to_sum(part) for to_sum, part in zip(self.maps, pooled, strict=True)]
        return torch.stack(mapped).sum(dim=0)

    def first_states(self, x: Tensor, structure: Mapping[str, Tensor]) -> list[Tensor]:
        """The features of nodes ``[N, F]``, and those that cells of each dimension have of them."""
        states = [x]
        for p in range(1, self.dimension + 1):
            size = structure[f"cell{p}_size"]
            corners = x[structure[f"corner{p}_node"]]
            state = scatter(corners, structure[f"corner{p}_cell"], dim_size=len(size), reduce="sum")
            states.append(state / size.unsqueeze(-1) if self.cell_features == "mean" else state)
        return states


def _linear(in_channels: int, out_channels: int, norm: bool, relu: bool, bias: bool = True) -> list[nn.Module]:
    made: list[nn.Module] = [nn.Linear(in_channels, out_channels, bias)]
    return made + [batch_norm(out_channels)] * norm + [nn.ReLU()] * relu
