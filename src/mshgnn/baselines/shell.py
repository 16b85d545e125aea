"""The shared shell: everything around the message is the same, so a comparison compares the message."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch_geometric.nn import GINConv, SAGEConv

from mshgnn.baselines.base import Baseline, Readout, Share, Task, pool
from mshgnn.baselines.builder import ModelBuilder, option_types
from mshgnn.nn.edges import as_csr
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.head import make_head
from mshgnn.nn.norm import batch_norm

SPARSE_PRODUCTS = (GINConv, SAGEConv)
"""Messages that PyG aggregates as a product with a sparse adjacency. GCNConv would, too, but treats loops otherwise."""


class SharedShell(Baseline):
    r"""Linear encoder, residual layers around any message, sum over node states of every layer, head.

    .. math::
        h^0 = W_e x + b_e, \qquad
        h^{l+1} = h^l + \mathrm{MLP}(\mathrm{ReLU}(\mathrm{BN}(W_r h^l + \mathrm{message}(h^l))))

    A graph's embedding puts the pooled node states of all layers, the encoder's included, side by side; a
    node's is its last state. Batch norm brings it to one scale before the head. This is the form of MSH-GNN's
    ``stable`` preset with a readout over node states.

    Args:
        in_channels: width of the input features.
        out_channels: number of classes.
        make_message: makes the message of one layer, called as ``message(h, edge_index)``.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width of the node states.
        num_layers: number of residual layers.
        dropout: share dropped in every layer's update and before the head; of the encoded features too for nodes.
        readout: ``"sum"``, ``"mean"`` or ``"max"`` over the nodes of a graph.
        head_layers: linear maps in the head, with ReLU between them.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        make_message: Callable[[int], nn.Module],
        *,
        task: Task,
        hidden_channels: PositiveInt = 64,
        num_layers: PositiveInt = 3,
        dropout: Share = 0.1,
        readout: Readout = "sum",
        head_layers: PositiveInt = 1,
    ) -> None:
        super().__init__()
        self.task = task
        self.readout: Readout = readout
        self.encoder = Encoder(in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            ResidualLayer(hidden_channels, make_message(hidden_channels), dropout) for _ in range(num_layers)
        )
        self.sums_neighbours = all(isinstance(layer.message, SPARSE_PRODUCTS) for layer in self.layers)
        width = hidden_channels * (num_layers + 1 if task == "graph" else 1)
        self.norm = batch_norm(width)
        self.feature_dropout = nn.Dropout(dropout if task == "node" else 0.0)
        head = make_head(width, hidden_channels, out_channels, head_layers, dropout)
        self.head = nn.Sequential(nn.Dropout(dropout), head)

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """What the head sees: ``[num_graphs, (L + 1) hidden]`` or ``[N, hidden]``."""
        h = self.feature_dropout(self.encoder(x))
        edges = receiver_rows(edge_index, h) if self.sums_neighbours else edge_index
        pooled = []
        for layer in self.layers:
            if self.task == "graph":
                pooled.append(pool(h, batch, batch_size, self.readout))
            h = layer(h, edges)
        if self.task == "graph":
            h = torch.cat([*pooled, pool(h, batch, batch_size, self.readout)], dim=-1)
        embedding: Tensor = self.norm(h)
        return embedding


class ResidualLayer(nn.Module):
    """``h + MLP(ReLU(BN(W_r h + message(h))))`` with a two-layer perceptron."""

    def __init__(self, channels: int, message: nn.Module, dropout: float) -> None:
        super().__init__()
        self.message = message
        self.root = nn.Linear(channels, channels, bias=False)
        self.update = nn.Sequential(
            batch_norm(channels),
            nn.ReLU(),
            nn.Linear(channels, channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(channels, channels),
        )

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        """The next node states ``[N, d]``."""
        updated: Tensor = h + self.update(self.root(h) + self.message(h, edge_index))
        return updated


def receiver_rows(edge_index: Tensor, h: Tensor) -> Tensor:
    """The adjacency with receivers as rows, sparse CSR ``[N, N]``: a product needs no tensor of messages."""
    csr = as_csr(edge_index, len(h), len(h))
    ones = h.new_ones(csr.sender.numel())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(csr.rowptr, csr.sender, ones, (len(h), len(h)), check_invariants=False)


def in_shared_shell(make_message: Callable[..., nn.Module]) -> ModelBuilder:
    """A builder of the shared shell around ``make_message(channels, *, ...)``; it takes the options of both."""
    of_message = option_types(make_message)
    of_shell = option_types(SharedShell)

    def construct(in_channels: int, out_channels: int, *, task: Task, **options: object) -> SharedShell:
        own = {name: options.pop(name) for name in of_message if name in options}
        return SharedShell(
            in_channels,
            out_channels,
            lambda channels: make_message(channels, **own),
            task=task,
            **options,  # type: ignore[arg-type]
        )

    return ModelBuilder(construct, {**of_shell, **of_message})
