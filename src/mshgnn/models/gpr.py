"""GPR-GNN: predictions spread by a PageRank whose weight of each hop is learned (Chien et al., 2021).

PyG has no such layer. As in the authors' code the perceptron has biases and its predictions are dropped once more
before they spread. Their weights of the hops are in double precision by accident, here they have the precision of the
model. What differs is the training: they penalise the linear maps but not the weights of the hops, and normalise
features row by row.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.propagation import PredictThenPropagate, Weighted, hops
from mshgnn.nn.model import Task
from mshgnn.nn.options import Depth, Share, Weight, Width, checked, options_of

HopWeights = Literal["ppr", "nppr", "random"]


class GeneralisedPageRank(nn.Module):
    r""":math:`Z = \sum_{k=0}^K \gamma_k \hat A^k H` with learned :math:`\gamma \in \mathbb{R}^{K+1}` of either sign.

    Args:
        num_hops: ``K``.
        alpha: of the weights it starts with.
        start: these weights. ``"ppr"``: :math:`\alpha (1 - \alpha)^k` and :math:`(1 - \alpha)^K` for the last, which is
            APPNP. ``"nppr"``: :math:`\alpha^k`, over their sum. ``"random"``: uniform, over the sum of their absolutes.
        dropout: share of ``H`` dropped.
    """

    def __init__(self, num_hops: int, alpha: float, start: HopWeights = "ppr", dropout: float = 0.0) -> None:
        super().__init__()
        self.num_hops = num_hops
        self.alpha = alpha
        self.start: HopWeights = start
        self.dropout = nn.Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(num_hops + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put the weights back to where they started; random ones are drawn anew."""
        hop = torch.arange(self.num_hops + 1, dtype=torch.get_default_dtype())
        if self.start == "ppr":
            weight = self.alpha * (1 - self.alpha) ** hop
            weight[-1] = (1 - self.alpha) ** self.num_hops
        elif self.start == "nppr":
            weight = self.alpha**hop
        else:
            weight = 2 * torch.rand_like(hop) - 1
        if self.start != "ppr":
            weight = weight / weight.abs().sum()
        with torch.no_grad():
            self.weight.copy_(weight)

    def forward(self, h: Tensor, adjacency: Weighted) -> Tensor:
        """``Z [N, d]`` from ``H [N, d]``."""
        z = torch.zeros_like(h)
        for weight, hop in zip(self.weight, hops(self.dropout(h), adjacency, self.num_hops), strict=True):
            z = z + weight * hop
        return z


class GPRGNN(PredictThenPropagate):
    """A perceptron with one hidden layer, then :class:`GeneralisedPageRank` of its predictions.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"node"``.
        hidden_channels: width of the hidden layer.
        num_hops: the longest walk ``K``.
        alpha: of the weights that the hops start with.
        hop_weights: these weights, ``"ppr"``, ``"nppr"`` or ``"random"``.
        dropout: share dropped of the features and of the hidden layer.
        prediction_dropout: share dropped of the predictions before they spread.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 64,
        num_hops: Depth = 10,
        alpha: Weight = 0.1,
        hop_weights: HopWeights = "ppr",
        dropout: Share = 0.5,
        prediction_dropout: Share = 0.5,
    ) -> None:
        propagation = GeneralisedPageRank(num_hops, alpha, hop_weights, prediction_dropout)
        super().__init__(
            in_channels, out_channels, propagation, hidden_channels=hidden_channels, dropout=dropout, bias=True
        )


MODELS = {
    "gpr": ModelBuilder(
        "GPR-GNN",
        "Chien et al., 2021",
        "PyG's `gcn_norm`, the learned hops ours; features are not normalised by rows",
        GPRGNN,
        options_of(GPRGNN),
        tasks=("node",),
    )
}
