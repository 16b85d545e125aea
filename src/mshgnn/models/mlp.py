"""The structure-agnostic control: a perceptron that never looks at an edge (Errica et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mshgnn.models.builder import ModelBuilder
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes


class MLP(Model):
    """Two hidden layers on the summed features of a graph, or on the features of a node.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of both hidden layers.
        dropout: share dropped after each of them.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 64,
        dropout: Share = 0.1,
    ) -> None:
        super().__init__(in_channels, task)
        self.encoder = Encoder(in_channels, hidden_channels)
        # Sums grow with the graph: batch norm brings them to one scale.
        self.hidden = nn.Sequential(
            batch_norm(hidden_channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_channels, hidden_channels),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.head = nn.Linear(hidden_channels, out_channels)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        if graphs is not None:
            x = pool_nodes(x if x.layout == torch.strided else x.to_dense(), *graphs, "sum")
        return self.hidden(self.encoder(x))


MODELS = {"mlp": ModelBuilder("MLP on summed features", "Errica et al., 2020", "ours", MLP, options_of(MLP))}
