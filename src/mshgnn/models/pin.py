"""PIN: messages between nodes, edges and longer paths (Truong & Chin, 2024).

The network of :mod:`mshgnn.models.cell_complex` on the path complex: cells of dimension ``p`` are the simple paths of
``p`` edges. Faces leave one node out where a path is left. All is ours.

The authors' four forms of a layer are two switches: A has neither ``update_relu`` nor ``combine_relu``, B both, C the
second, D the first. As in most of their runs the read-out sees the last layer alone (``jump=False``). Other than with
SIN and CIN its maps have a norm, so that a dimension without paths still adds something. They choose the longest path
for each data set: 2 on PROTEINS and IMDB-B, 7 on NCI1.
"""

from __future__ import annotations

from typing import Annotated, Literal

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.cell_complex import CellForm, CellNetwork, Reduce
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.structure.cells import path_complex


class PIN(CellNetwork):
    """The network on paths.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"``.
        hidden_channels: width of the states.
        num_layers: number of layers.
        longest_path: edges of the longest paths.
        update_layers: linear maps in each of the two updates.
        update_relu: norm and ReLU after each of them.
        combine_relu: ReLU after the map that combines both.
        jump: the read-out sees all layers instead of the last.
        norm: batch norm, over the cells of a dimension.
        coboundaries: whether messages see the cell above that they go through.
        cell_features: how a cell's first state is made of its nodes' features.
        readout: how states are pooled.
        head_layers: linear maps of the head.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Literal["graph"] = "graph",
        hidden_channels: Width = 32,
        num_layers: Depth = 3,
        longest_path: Annotated[int, Between(1, 20)] = 3,
        update_layers: Depth = 2,
        update_relu: bool = True,
        combine_relu: bool = True,
        jump: bool = False,
        norm: bool = True,
        coboundaries: bool = False,
        cell_features: Reduce = "sum",
        readout: Reduce = "sum",
        head_layers: Depth = 1,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            path_complex(longest_path),
            longest_path,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            form=CellForm(coboundaries, norm, update_layers, update_relu, combine_relu, jump, map_norm=True),
            cell_features=cell_features,
            readout=readout,
            head_layers=head_layers,
            dropout=dropout,
        )


MODELS = {
    "pin": ModelBuilder(
        "PIN",
        "Truong & Chin, 2024",
        "ours; paths of three edges, theirs of two to seven by data set",
        PIN,
        options_of(PIN),
        tasks=("graph",),
    )
}
