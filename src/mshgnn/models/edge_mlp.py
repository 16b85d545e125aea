"""An edge perceptron: any function of an edge's two ends, summed over the senders (Gilmer et al., 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from mshgnn.models.builder import around
from mshgnn.nn.options import Width


class EdgePerceptron(MessagePassing):
    r""":math:`h'_v = \sum_u W_2\, \mathrm{relu}(W_1 [h_v \| h_u \| e_{vu}])`: what any function of an edge costs.

    Shapes: ``[N, channels]`` to ``[N, channels]``; edge features ``[M, edge_dim]``.
    """

    def __init__(self, channels: int, *, edge_dim: Width | None = None) -> None:
        super().__init__(aggr="sum")
        self.perceptron = nn.Sequential(
            nn.Linear(2 * channels + (edge_dim or 0), channels), nn.ReLU(), nn.Linear(channels, channels)
        )

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        for module in self.perceptron:
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """The messages ``[N, channels]``."""
        return self.propagate(edge_index, x=x, edge_attr=edge_attr)

    def message(self, x_i: Tensor, x_j: Tensor, edge_attr: Tensor | None) -> Tensor:
        """The message of every edge, ``[M, channels]``."""
        ends = [x_i, x_j] if edge_attr is None else [x_i, x_j, edge_attr]
        return self.perceptron(torch.cat(ends, dim=-1))


MODELS = {
    "edge-mlp": around("Edge perceptron", "Gilmer et al., 2017", "ours, on PyG's `MessagePassing`", EdgePerceptron)
}
