"""Plain stacks in the form that Luo et al. (2024) tuned, strong on nodes, and the harmonic message in such a stack."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.nn.inits import glorot
from torch_geometric.utils import add_remaining_self_loops

from mshgnn.baselines.base import Baseline, Share, Task, dropout, pool
from mshgnn.baselines.builder import ModelBuilder, option_types
from mshgnn.baselines.shell import SPARSE_PRODUCTS, receiver_rows
from mshgnn.nn import MSHConv
from mshgnn.nn.encoder import Encoder


class TunedStack(Baseline):
    r"""Convolutions without an encoder, then a linear head.

    .. math::
        h^0 = x, \qquad h^{l+1} = \mathrm{dropout}(\mathrm{ReLU}(\mathrm{LN}(\mathrm{conv}(h^l) \; (+\, W h^l))))

    Every node has a loop. A graph's embedding is the mean of its last node states.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes.
        make_conv: makes one convolution, called as ``make_conv(in_channels, out_channels)``.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the node states.
        num_layers: number of convolutions.
        dropout: share dropped after every convolution.
        residual: add a linear map of the layer's input.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        make_conv: Callable[[int, int], nn.Module],
        *,
        task: Task,
        hidden_channels: PositiveInt = 64,
        num_layers: PositiveInt = 2,
        dropout: Share = 0.5,
        residual: bool = False,
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.convs = nn.ModuleList(make_conv(before, after) for before, after in pairwise(widths))
        self.maps = nn.ModuleList(Encoder(before, after) for before, after in pairwise(widths)) if residual else None
        self.sums_neighbours = all(isinstance(conv, SPARSE_PRODUCTS) for conv in self.convs)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in self.convs)
        self.head = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout
        self.pooled = task == "graph"

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The last node states ``[N, d]``, averaged over each graph ``[num_graphs, d]`` on graph tasks."""
        edge_index, _ = add_remaining_self_loops(edge_index, num_nodes=x.size(0))
        h = x if x.layout == torch.strided or not self.sums_neighbours else x.to_dense()
        if self.sums_neighbours:
            edge_index = receiver_rows(edge_index, h)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            m = conv(h, edge_index)
            if self.maps is not None:
                m = m + self.maps[layer](h)
            h = dropout(norm(m).relu(), self.dropout, self.training)
        return pool(h, batch, batch_size, "mean") if self.pooled else h


def tuned(make_conv: Callable[[int, int], nn.Module]) -> ModelBuilder:
    """A builder of the stack around one kind of convolution."""

    def construct(in_channels: int, out_channels: int, *, task: Task, **options: object) -> TunedStack:
        return TunedStack(in_channels, out_channels, make_conv, task=task, **options)  # type: ignore[arg-type]

    return ModelBuilder(construct, option_types(TunedStack))


def gcn_conv(in_channels: int, out_channels: int) -> nn.Module:
    """GCN whose linear map takes sparse features at little cost."""
    conv: nn.Module = GCNConv(in_channels, out_channels)
    conv.lin = Encoder(in_channels, out_channels, bias=False)
    glorot(conv.lin.weight)
    return conv


def gat_conv(in_channels: int, out_channels: int) -> nn.Module:
    """One head, no bias."""
    conv: nn.Module = GATConv(in_channels, out_channels, add_self_loops=False, bias=False)
    return conv


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
        messages: Tensor = self.message(self.lin(x), edge_index)
        return messages


MODELS = {
    "gcn-tuned": tuned(gcn_conv),
    "gat-tuned": tuned(gat_conv),
    "sage-tuned": tuned(SAGEConv),
    "msh-tuned": tuned(HarmonicConv),
}
