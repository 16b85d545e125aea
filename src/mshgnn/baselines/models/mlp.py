"""The structure-agnostic control (Errica et al., 2020): a perceptron that never looks at an edge."""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from mshgnn.baselines.base import Baseline, Share, Task, pool
from mshgnn.baselines.builder import ModelBuilder
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.norm import batch_norm


class MLP(Baseline):
    """Two hidden layers on the summed features of a graph, or on the features of a node.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of both hidden layers.
        dropout: share dropped after each of them.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        task: Task,
        hidden_channels: PositiveInt = 64,
        dropout: Share = 0.1,
    ) -> None:
        super().__init__()
        self.task = task
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

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The second hidden layer: ``[num_graphs, hidden]`` or ``[N, hidden]``."""
        if self.task == "graph":
            x = pool(x if x.layout == torch.strided else x.to_dense(), batch, batch_size, "sum")
        embedding: Tensor = self.hidden(self.encoder(x))
        return embedding


MODELS = {"mlp": ModelBuilder.of(MLP)}
