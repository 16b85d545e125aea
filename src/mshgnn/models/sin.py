"""SIN: messages between nodes, edges and triangles, the simplices of a graph (Bodnar et al., 2021, "topological").

The network of :mod:`mshgnn.models.cell_complex` on the clique complex: cells of dimension ``p`` are the cliques of
``p + 1`` nodes. All is ours, the cliques are networkx's.

Like the authors' released form on these data sets it hears faces and what shares a cell above, without cofaces in the
messages. The release skips training batches in which a dimension has fewer than two cells; here batch norm takes its
running statistics there. A graph without triangles is a graph of nodes and edges to it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.cell_complex import CellForm, CellNetwork, Reduce
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.structure.cells import clique_complex


class SIN(CellNetwork):
    """The network on cliques.

    The arguments are those of :class:`mshgnn.models.cin.CIN`, with the ``dimension`` of the largest simplices (2 for
    triangles) in the place of its rings; messages do not see the cell above by default.
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
        dimension: Annotated[int, Between(1, 10)] = 2,
        norm: bool = True,
        coboundaries: bool = False,
        cell_features: Reduce = "mean",
        readout: Reduce = "sum",
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            clique_complex(dimension),
            dimension,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            form=CellForm(coboundaries, norm),
            cell_features=cell_features,
            readout=readout,
            dropout=dropout,
        )


MODELS = {
    "sin": ModelBuilder(
        "SIN",
        "Bodnar et al., 2021",
        "ours, cliques by networkx; no batch is skipped for having few cells",
        SIN,
        options_of(SIN),
        tasks=("graph",),
    ),
}
