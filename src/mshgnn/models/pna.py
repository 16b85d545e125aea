r"""PNA: several aggregations of the neighbours side by side, each scaled by the degree (Corso et al., 2020).

.. math::
    h'_v = W_2 \Big[h_v \,\Big\|\, \big[1, \tfrac{\log(d_v + 1)}{\delta}, \tfrac{\delta}{\log(d_v + 1)}\big] \otimes
    [\mathrm{mean}, \mathrm{min}, \mathrm{max}, \mathrm{std}]_u \; W_1 [h_v \| h_u \| e_{vu}]\Big]

The layer is PyG's ``PNAConv``; the stack around it in ``pna-paper`` is ours. :math:`\delta`, the mean of
:math:`\log(d + 1)` over the nodes, is a constant of the training set; PyG wants the histogram of the degrees for it.
The lab measures it on the training graphs of a fold and gives it as the option ``mean_log_degree``. A model made
without it takes the mean of the first training batch that has an edge, keeps it for good and saves it with the weights;
before training it is :math:`\log 2`, the value of a perfect matching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import PNAConv
from torch_geometric.utils import degree

from mshgnn.errors import UserError
from mshgnn.models.builder import ModelBuilder, around
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import pool_nodes

AGGREGATORS = ["mean", "min", "max", "std"]
SCALERS = ["identity", "amplification", "attenuation"]
SMALLEST = 0.001
LogDegree = Annotated[float, Between(SMALLEST, 30)]
MATCHING = torch.tensor([0, 1])
"""The histogram of degrees of a perfect matching, until a graph has been seen."""


class PNAMessage(nn.Module):
    """PyG's convolution, which learns the mean log degree from the first training batch unless it is given."""

    degree_known: Tensor

    def __init__(
        self,
        channels: int,
        *,
        towers: Width = 1,
        mean_log_degree: LogDegree | None = None,
        edge_dim: Width | None = None,
    ) -> None:
        super().__init__()
        if channels % towers:
            raise UserError(f"towers must divide hidden_channels, but {channels} is no multiple of {towers}")
        self.conv = PNAConv(
            channels, channels, AGGREGATORS, SCALERS, MATCHING, edge_dim, towers, divide_input=towers > 1
        )
        if mean_log_degree is not None:
            self.conv.aggr_module.init_avg_deg_log = mean_log_degree
            self.conv.aggr_module.reset_parameters()
        self.register_buffer("degree_known", torch.tensor(mean_log_degree is not None))

    @property
    def mean_log_degree(self) -> float:
        """The constant in use."""
        return float(self.conv.aggr_module.avg_deg_log)

    def forward(self, h: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """The messages ``[N, channels]``."""
        if self.training and edge_index.size(1) and not bool(self.degree_known):
            degrees = degree(edge_index[1], h.size(0), dtype=h.dtype)
            self.conv.aggr_module.avg_deg_log.fill_((degrees + 1).log().mean())
            self.degree_known.fill_(True)
        return self.conv(h, edge_index, edge_attr)


class PNA(Model):
    r"""The network of the paper: :math:`h^{l+1} = h^l + \mathrm{ReLU}(\mathrm{BN}(\mathrm{PNA}(h^l)))`, a sum, an MLP.

    As the authors ran it on ZINC, from memory of their settings and PyG's example: four layers, towers over slices of
    the width (four of 20 here, five of 15 there), batch norm, residual, sum over the nodes, a head of two maps (theirs
    has three). The authors' first layers give every tower the whole width; here all towers
    share it. Their size norm is left out.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the node states, a multiple of ``towers``.
        num_layers: number of layers.
        towers: slices of the width that are aggregated on their own.
        mean_log_degree: the mean of ``log(d + 1)``; ``None``: from the first training batch.
        edge_dim: width of the edge features, ``None`` without.
        dropout: share dropped in the head.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 80,
        num_layers: Depth = 4,
        towers: Width = 4,
        mean_log_degree: LogDegree | None = None,
        edge_dim: Width | None = None,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.encoder = Encoder(in_channels, hidden_channels)
        self.convs = nn.ModuleList(
            PNAMessage(hidden_channels, towers=towers, mean_log_degree=mean_log_degree, edge_dim=edge_dim)
            for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(batch_norm(hidden_channels) for _ in self.convs)
        self.head = make_head(hidden_channels, hidden_channels, out_channels, 2, dropout)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        edges, h = as_edge_index(edge_index, x.size(0), x.size(0)), self.encoder(x)
        check_edge_features(edge_attr, self.edge_dim, edges.size(1), h.dtype)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = h + norm(conv(h, edges, edge_attr)).relu()
        return h if graphs is None else pool_nodes(h, *graphs, "sum")


def degrees(graphs: Sequence[Data]) -> dict[str, object]:
    """The mean of ``log(d + 1)`` over the nodes of the training graphs; nothing if they have no edge."""
    logs = [(degree(graph.edge_index[1], graph.num_nodes) + 1).log() for graph in graphs]
    mean = float(torch.cat(logs).mean()) if logs else 0.0
    return {"mean_log_degree": mean} if mean >= SMALLEST else {}


MODELS = {
    "pna": replace(around("PNA", "Corso et al., 2020", "PyG's `PNAConv` as a message", PNAMessage), measure=degrees),
    "pna-paper": ModelBuilder(
        "PNA of its paper",
        "Corso et al., 2020",
        "PyG's `PNAConv`, the stack ours; towers share the width, no size norm",
        PNA,
        options_of(PNA),
        measure=degrees,
    ),
}
