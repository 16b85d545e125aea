"""The paper's GCN and GAT of the joint structure-frequency task, identified by their parameter counts.

Two convolutions ``1 -> 64 -> 64`` with ReLU, the mean over nodes, ``Linear 64 -> 30``: 6,238 parameters (GCN)
and 6,494 (GAT, one head).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Width, checked
from mshgnn.nn.readout import pool_nodes

WIDTH = 64


class ConvStack(Model):
    """Two convolutions with ReLU, the mean over each graph's nodes, a linear head.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        make_conv: makes one convolution, called as ``make_conv(in_channels, out_channels)``.
        task: ``"graph"`` or ``"node"``.
    """

    @checked
    def __init__(
        self, in_channels: Width, out_channels: Width, make_conv: Callable[[int, int], nn.Module], *, task: Task
    ) -> None:
        super().__init__(in_channels, task)
        self.convs = nn.ModuleList([make_conv(in_channels, WIDTH), make_conv(WIDTH, WIDTH)])
        self.head = nn.Linear(WIDTH, out_channels)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        edges, h = as_edge_index(edge_index, x.size(0), x.size(0)), x
        for conv in self.convs:
            h = conv(h, edges).relu()
        return h if graphs is None else pool_nodes(h, *graphs, "mean")


MODELS = {
    f"joint-{name.casefold()}": ModelBuilder(
        f"{name} of the paper",
        "the baseline of the joint structure-frequency task",
        "PyG's convolution, the stack ours; its widths are found from the printed numbers of parameters",
        partial(ConvStack, make_conv=conv),
        {},
    )
    for name, conv in (("GCN", GCNConv), ("GAT", GATConv))
}
