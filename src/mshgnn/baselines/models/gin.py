"""GIN (Xu et al., 2019): the plain sum of the neighbours, as strong as the 1-WL test."""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from mshgnn.baselines.base import Baseline, Share, Task, pool
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.baselines.shell import in_shared_shell
from mshgnn.nn.norm import batch_norm


def gin_message(channels: int) -> nn.Module:
    """The message alone, for the shared shell: a linear map of the sum."""
    conv: nn.Module = GINConv(nn.Linear(channels, channels, bias=False))
    return conv


class GIN(Baseline):
    """GIN-0: four sums with two-layer perceptrons; the states of every layer, the input's too, vote on the class.

    ``logits = sum_l dropout(W_l sum_v h_v^l + b_l)``. On nodes, which the paper does not treat, the same vote
    is taken at every node. ``embed`` holds the pooled states of all layers side by side.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the node states.
        num_layers: number of layers, the input counted as one.
        dropout: share of the votes dropped.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        task: Task,
        hidden_channels: PositiveInt = 64,
        num_layers: PositiveInt = 5,
        dropout: Share = 0.5,
    ) -> None:
        super().__init__()
        self.task = task
        self.widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.convs = nn.ModuleList(
            GINConv(
                nn.Sequential(
                    nn.Linear(width, hidden_channels),
                    batch_norm(hidden_channels),
                    nn.ReLU(),
                    nn.Linear(hidden_channels, hidden_channels),
                )
            )
            for width in self.widths[:-1]
        )
        self.norms = nn.ModuleList(batch_norm(hidden_channels) for _ in self.convs)
        self.heads = nn.ModuleList(nn.Linear(width, out_channels) for width in self.widths)
        self.dropout = nn.Dropout(dropout)

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The states of all layers side by side, summed over each graph on graph tasks."""
        states = [x if x.layout == torch.strided else x.to_dense()]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            states.append(norm(conv(states[-1], edge_index)).relu())
        if self.task == "graph":
            states = [pool(h, batch, batch_size, "sum") for h in states]
        return torch.cat(states, dim=-1)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits ``[num_graphs, C]`` or ``[N, C]``."""
        embedding = self.embed(x, edge_index, batch, batch_size=batch_size)
        states = torch.split(embedding, self.widths, dim=-1)
        votes = [self.dropout(head(h)) for head, h in zip(self.heads, states, strict=True)]
        return torch.stack(votes).sum(dim=0)


MODELS = {"gin": in_shared_shell(gin_message), "gin-own": ModelBuilder.of(GIN)}
