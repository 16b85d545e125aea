"""Integrated gradients (Sundararajan et al., 2017) of node features and edges, as an algorithm of PyG's Explainer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType

from mshgnn.explanation.question import masked

STEPS = 48
"""Points of the midpoint rule."""


class IntegratedGradients(ExplainerAlgorithm):
    r"""What every entry of ``x`` and every edge adds to the score on the way from nothing to the graph as it is.

    .. math::
        I_{vj} = x_{vj} \int_0^1 \frac{\partial s(t x, t)}{\partial x_{vj}}\, dt, \qquad
        I_{vu} = \int_0^1 \frac{\partial s(t x, t)}{\partial m_{vu}}\, dt

    with :math:`m = t` the weight of every message. All together they sum to :math:`s(x, 1) - s(0, 0)`.
    """

    def supports(self) -> bool:
        """Attributes of nodes, and edges as objects."""
        return self.explainer_config.node_mask_type == MaskType.attributes and self.explainer_config.edge_mask_type in (
            None,
            MaskType.object,
        )

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        """Node mask ``[N, d]`` and edge mask ``[M]``, both signed."""
        edges = self.explainer_config.edge_mask_type is not None
        of_x, of_edges = torch.zeros_like(x), x.new_zeros(edge_index.size(1))
        for step in range(STEPS):
            share = (step + 0.5) / STEPS
            scaled = (share * x).requires_grad_()
            mask = x.new_full((edge_index.size(1),), share).requires_grad_()
            if not edges:
                said = model(scaled, edge_index, **kwargs).sum()
                of_x += torch.autograd.grad(said, scaled)[0]
                continue
            with masked(model, mask, edge_index):
                said = model(scaled, edge_index, **kwargs).sum()
                more_x, more_edges = torch.autograd.grad(said, (scaled, mask))
            of_x, of_edges = of_x + more_x, of_edges + more_edges
        node_mask = x * of_x / STEPS
        return Explanation(node_mask=node_mask, edge_mask=of_edges / STEPS if edges else None)
