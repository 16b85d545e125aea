r"""DCNN: features after walks of every length, each weighed on its own (Atwood & Towsley, 2016).

.. math::
    Z_h = \tanh(W_h \odot P^h X), \quad h = 0, \dots, H, \qquad \text{logits} = V \, [Z_0 \| \dots \| Z_H] + b

with one weight per hop and feature. For a graph :math:`P^h X` is averaged over its nodes first.

All of it is ours, on sparse products: the authors keep the dense powers of ``P``. The paper has the transition matrix
:math:`P = D^{-1} A` (``transition="paper"``); on it a constant feature tells nothing, not even the degree. The released
code divides by the *sender's* degree plus one, :math:`P_{vu} = A_{vu} / (d_u + 1)` (``"released"``, the default: the
published figures are its). The authors train with a hinge loss on the softmax, one graph at a time, and stop by
the last validation graph alone; here the runner decides.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.utils import degree, scatter

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import as_dense
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Depth, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes

Transition = Literal["released", "paper"]


class DCNN(Model):
    """Diffused features, a weight for each hop and feature, a linear map.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hops: length ``H`` of the longest walk.
        transition: the matrix ``P``: of the ``"released"`` code or of the ``"paper"``.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hops: Depth = 3,
        transition: Transition = "released",
    ) -> None:
        super().__init__(in_channels, task)
        self.hops, self.transition = hops, transition
        self.weight = nn.Parameter(torch.empty(hops + 1, in_channels))
        self.head = nn.Linear((hops + 1) * in_channels, out_channels)
        nn.init.normal_(self.weight, std=0.01)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        nn.init.normal_(self.weight, std=0.01)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        walks = self.diffused(as_dense(x), as_edge_index(edge_index, x.size(0), x.size(0)))
        if graphs is not None:
            walks = [pool_nodes(walk, *graphs, "mean") for walk in walks]
        return (self.weight * torch.stack(walks, dim=1)).tanh().flatten(1)

    def diffused(self, x: Tensor, edge_index: Tensor) -> list[Tensor]:
        """``P^h X [N, F]`` for ``h = 0, ..., H``."""
        sender, receiver = edge_index
        if self.transition == "released":
            weight = 1 / (degree(sender, x.size(0), dtype=x.dtype)[sender] + 1)
        else:
            weight = 1 / degree(receiver, x.size(0), dtype=x.dtype)[receiver]
        walks = [x]
        for _ in range(self.hops):
            sent = weight[:, None] * walks[-1][sender]
            walks.append(scatter(sent, receiver, dim_size=x.size(0), reduce="sum"))
        return walks


MODELS = {
    "dcnn": ModelBuilder(
        "DCNN",
        "Atwood & Towsley, 2016",
        "ours, on sparse products; the lab's loss, theirs is a hinge on the softmax",
        DCNN,
        options_of(DCNN),
    )
}
