"""GraphGPS: a message over edges beside attention over the whole graph (Rampášek et al., 2022).

The layer is PyG's ``GPSConv``; its attention is :class:`SelfAttention`, which makes no weights between all pairs of
nodes. The authors' encodings are the data set's: add ``rwpe`` or ``lappe`` to the features, which one linear map then
reads. The authors give encodings an encoder of their own and flip the signs of ``lappe`` in every step.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GPSConv

from mshgnn.errors import UserError
from mshgnn.models.attention import SelfAttention, check_order
from mshgnn.models.builder import ModelBuilder
from mshgnn.models.gine import GINEMessage
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.options import Depth, Share, Width, checked, options_of
from mshgnn.nn.readout import Reduction, pool_nodes

Message = Literal["gcn", "gine"]


class GPS(Model):
    r"""Linear encoder, layers of :class:`torch_geometric.nn.GPSConv`, readout, head.

    .. math::
        u = \mathrm{BN}(h + \mathrm{drop}(\mathrm{message}(h))) + \mathrm{BN}(h + \mathrm{drop}(\mathrm{attention}(h))),
        \qquad h' = \mathrm{BN}(u + \mathrm{MLP}(u))

    Args:
        in_channels: width of the input features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the states.
        num_layers: number of layers.
        heads: heads of the attention; they share the width.
        message: over the edges, ``"gcn"`` or ``"gine"``; ``None``: GINE with edge features, GCN without.
        edge_dim: width of the edge features, ``None`` without.
        readout: ``"mean"``, ``"sum"`` or ``"max"`` over the nodes of a graph.
        head_layers: linear maps in the head.
        dropout: share dropped in the layers and in the head.
        attention_dropout: share of the attention weights dropped, which makes them all: quadratic in the nodes.
    """

    mixes_whole_graphs = True

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        *,
        task: Task,
        hidden_channels: Width = 64,
        num_layers: Depth = 2,
        heads: Width = 4,
        message: Message | None = None,
        edge_dim: Width | None = None,
        readout: Reduction = "mean",
        head_layers: Depth = 2,
        dropout: Share = 0.2,
        attention_dropout: Share = 0.0,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        if message == "gcn" and edge_dim is not None:
            raise UserError("message 'gcn' takes no edge features; 'gine' does")
        self.readout = readout
        self.encoder = Encoder(in_channels, hidden_channels)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            plain = edge_dim is None and message != "gine"
            conv = GCNConv(hidden_channels, hidden_channels) if plain else GINE(hidden_channels, edge_dim)
            attention = SelfAttention(hidden_channels, heads, attention_dropout)
            layer = GPSConv(hidden_channels, conv, dropout=dropout, norm_kwargs={"allow_single_element": True})
            layer.attn, layer.heads = attention, heads
            self.layers.append(layer)
        self.head = make_head(hidden_channels, hidden_channels, out_channels, head_layers, dropout)

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        assert graphs is not None, "it mixes whole graphs"
        edges = as_edge_index(edge_index, x.size(0), x.size(0))
        check_edge_features(edge_attr, self.edge_dim, edges.size(1), self.encoder.weight.dtype)
        check_order(graphs[0])
        given = {} if edge_attr is None else {"edge_attr": edge_attr}
        h = self.encoder(x)
        # PyG cannot pad a batch without nodes.
        for layer in self.layers if len(h) else ():
            h = layer(h, edges, graphs[0], **given)
        return h if self.task == "node" else pool_nodes(h, *graphs, self.readout)


class GINE(GINEMessage):
    """GINE whose sum goes through a perceptron with one hidden layer."""

    def __init__(self, channels: int, edge_dim: int | None) -> None:
        super().__init__(channels, edge_dim=edge_dim)
        self.conv.nn = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.conv.reset_parameters()


MODELS = {
    "gps": ModelBuilder(
        "GraphGPS",
        "Rampášek et al., 2022",
        "PyG's `GPSConv` and `GCNConv`; encodings are input features, theirs have encoders of their own",
        GPS,
        options_of(GPS),
    )
}
