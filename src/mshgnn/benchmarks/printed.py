"""The layer literally as the paper prints it: a projection, an encoding and a wide message for every single edge."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing


class PrintedMSHConv(MessagePassing):
    r"""``h_v' = MLP(h_v + sum_u W_o psi(F_v h_u + phi_v))`` with ``F_v`` made anew for each edge ``u -> v``."""

    def __init__(self, channels: int, num_projections: int, num_frequencies: int = 3) -> None:
        super().__init__(aggr="sum", node_dim=0)
        self.num_projections = num_projections
        self.num_frequencies = num_frequencies
        self.generator = nn.Linear(channels, num_projections * channels)
        self.phase_shift = nn.Linear(channels, num_projections)
        self.output = nn.Linear(2 * num_frequencies * num_projections, channels, bias=False)
        self.mlp = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Node features ``[N, channels]`` to ``[N, channels]``."""
        out: Tensor = self.mlp(x + self.propagate(edge_index, x=x))
        return out

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        """The message of every edge, ``[M, channels]``."""
        projection = self.generator(x_i).view(x_i.size(0), self.num_projections, -1)
        phase = torch.bmm(projection, x_j.unsqueeze(-1)).squeeze(-1) + self.phase_shift(x_i)
        parts = []
        for k in range(self.num_frequencies):
            parts += [torch.sin(2**k * phase), torch.cos(2**k * phase)]
        message: Tensor = self.output(torch.cat(parts, dim=-1))
        return message
