"""APPNP: predictions spread by personalised PageRank (Gasteiger et al., 2019).

The propagation is that of PyG's ``APPNP``, which drops edges cumulatively: after :math:`k` steps an edge is left with
probability :math:`(1 - p)^k`. The paper drops afresh in every step, and so does this file; without edge dropout the two
agree. As in the authors' code the linear maps have no biases. What differs is the training: their penalty is on
:math:`W_1` alone, their features are normalised row by row, and they take the largest component.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import dropout

from mshgnn.models.builder import ModelBuilder
from mshgnn.models.propagation import PredictThenPropagate, Weighted, propagate
from mshgnn.nn.model import Task
from mshgnn.nn.options import Depth, Share, Weight, Width, checked, options_of


class PersonalisedPageRank(nn.Module):
    r""":math:`Z^{k+1} = (1 - \alpha) \hat A_k Z^k + \alpha Z^0` for :math:`k < K`.

    :math:`\hat A_k` is :math:`\hat A` whose entries are dropped anew in each step of the training.

    Args:
        num_hops: number of steps ``K``.
        alpha: probability of a walk to return to its start.
        edge_dropout: share of the entries dropped.
    """

    def __init__(self, num_hops: int, alpha: float, edge_dropout: float = 0.0) -> None:
        super().__init__()
        self.num_hops = num_hops
        self.alpha = alpha
        self.edge_dropout = edge_dropout

    def forward(self, start: Tensor, adjacency: Weighted) -> Tensor:
        """``Z^K [N, d]`` from ``Z^0 [N, d]``."""
        edges, weight = adjacency
        z = start
        for _ in range(self.num_hops):
            kept = dropout(weight, self.edge_dropout, self.training)
            z = (1 - self.alpha) * propagate(z, (edges, kept)) + self.alpha * start
        return z


class APPNP(PredictThenPropagate):
    """A perceptron with one hidden layer, then :class:`PersonalisedPageRank` of its predictions.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"node"``.
        hidden_channels: width of the hidden layer.
        num_hops: steps of the propagation ``K``.
        alpha: probability of return.
        dropout: share dropped of the features and of the hidden layer.
        edge_dropout: share of the adjacency's entries dropped in each step.
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
        dropout: Share = 0.5,
        edge_dropout: Share = 0.5,
    ) -> None:
        propagation = PersonalisedPageRank(num_hops, alpha, edge_dropout)
        super().__init__(
            in_channels, out_channels, propagation, hidden_channels=hidden_channels, dropout=dropout, bias=False
        )


MODELS = {
    "appnp": ModelBuilder(
        "APPNP",
        "Gasteiger et al., 2019",
        "PyG's `gcn_norm`, the steps ours; features are not normalised by rows",
        APPNP,
        options_of(APPNP),
        tasks=("node",),
    )
}
