"""Plain stacks in the form that Luo et al. (2024) tuned, strong on nodes, and the harmonic message in such a stack."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.nn.inits import glorot
from torch_geometric.utils import add_remaining_self_loops

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn import MSHConv
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.neighbour_sums import receiver_rows, sum_neighbours
from mshgnn.nn.options import Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes


class TunedStack(Model):
    r"""Convolutions without an encoder, then a linear head.

    .. math::
        h^0 = x, \qquad h^{l+1} = \mathrm{dropout}(\mathrm{ReLU}(\mathrm{LN}(\mathrm{conv}(h^l) \; (+\, W h^l))))

    Every node has a loop. A graph's embedding is the mean of its last node states.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        make_conv: makes one convolution, called as ``make_conv(in_channels, out_channels)``.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the node states.
        num_layers: number of convolutions.
        dropout: share dropped after every convolution.
        residual: add a linear map of the layer's input.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        make_conv: Callable[[int, int], nn.Module],
        *,
        task: Task,
        hidden_channels: Width = 64,
        num_layers: Depth = 2,
        dropout: Share = 0.5,
        residual: bool = False,
    ) -> None:
        super().__init__(in_channels, task)
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.convs = nn.ModuleList(make_conv(before, after) for before, after in pairwise(widths))
        self.maps = nn.ModuleList(Encoder(before, after) for before, after in pairwise(widths)) if residual else None
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in self.convs)
        self.head = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        edges, _ = add_remaining_self_loops(as_edge_index(edge_index, x.size(0), x.size(0)), num_nodes=x.size(0))
        h = x
        if sum_neighbours(self.convs):
            h = x if x.layout == torch.strided else x.to_dense()
            edges = receiver_rows(edges, h)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            m = conv(h, edges)
            if self.maps is not None:
                m = m + self.maps[layer](h)
            h = dropout(norm(m).relu(), self.dropout, self.training)
        return h if graphs is None else pool_nodes(h, *graphs, "mean")


def tuned(
    title: str,
    make_conv: Callable[[int, int], nn.Module],
    source: str = "Luo et al., 2024",
    origin: str = "PyG's convolution, the stack ours",
) -> ModelBuilder:
    """A builder of the stack around one kind of convolution."""
    construct = partial(TunedStack, make_conv=make_conv)
    return ModelBuilder(f"{title}, tuned stack", source, origin, construct, options_of(TunedStack))


def gcn_conv(in_channels: int, out_channels: int) -> nn.Module:
    """GCN whose linear map takes sparse features at little cost."""
    conv = GCNConv(in_channels, out_channels)
    conv.lin = Encoder(in_channels, out_channels, bias=False)
    glorot(conv.lin.weight)
    return conv


def gat_conv(in_channels: int, out_channels: int) -> nn.Module:
    """One head, no bias."""
    return GATConv(in_channels, out_channels, add_self_loops=False, bias=False)


class HarmonicConv(nn.Module):
    r"""Where GATConv has attention: the mean of the harmonic messages of :math:`W x`, without bias.

    The map comes first, for a receiver that made projections as wide as a bag of words would need millions of weights.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = Encoder(in_channels, out_channels, bias=False)
        self.message = MSHConv(out_channels, out_channels, aggr="mean", centered=True, root_weight=False)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The mean message ``[N, out_channels]``."""
        return self.message(self.lin(x), edge_index)


MODELS = {
    "gcn-tuned": tuned("GCN", gcn_conv),
    "gat-tuned": tuned("GAT", gat_conv),
    "sage-tuned": tuned("GraphSAGE", SAGEConv),
    "msh-tuned": tuned("MSHConv", HarmonicConv, "the harmonic message in the stack of Luo et al., 2024", "ours"),
}
