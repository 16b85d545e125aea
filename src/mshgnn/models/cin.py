"""CIN: messages between nodes, edges and rings (Bodnar et al., 2021, "cellular").

The network of :mod:`mshgnn.models.cell_complex` on nodes, edges and, as cells of dimension 2, the cycles without a
chord of at most ``largest_ring`` nodes. All is ours, the rings are networkx's.

As in the authors' runs on these data sets messages see the cell above that they go through. The release keeps weights
for messages through cells above the rings, which there are none of; here they are left out. What it skips
in training is as with SIN.
"""

from __future__ import annotations

from typing import Annotated, Literal

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.cell_complex import CellForm, CellNetwork, Reduce
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.structure.cells import ring_complex


class CIN(CellNetwork):
    """The network on rings.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the states.
        num_layers: number of layers.
        largest_ring: nodes of the largest ring; the smallest is a triangle.
        norm: batch norm, over the cells of a dimension.
        coboundaries: whether messages see the cell above that they go through.
        cell_features: how a cell's first state is made of its nodes' features.
        readout: how states are pooled.
        dropout: share dropped before the last map.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 64,
        num_layers: Depth = 4,
        largest_ring: Annotated[int, Between(3, 20)] = 6,
        norm: bool = True,
        coboundaries: bool = True,
        cell_features: Reduce = "mean",
        readout: Reduce = "sum",
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            ring_complex(largest_ring),
            2,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            form=CellForm(coboundaries, norm),
            cell_features=cell_features,
            readout=readout,
            dropout=dropout,
        )


MODELS = {
    "cin": ModelBuilder(
        "CIN",
        "Bodnar et al., 2021",
        "ours, rings by networkx; no batch is skipped, and no weights without use",
        CIN,
        options_of(CIN),
        tasks=("graph",),
    ),
}
