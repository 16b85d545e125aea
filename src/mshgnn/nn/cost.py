r"""What a training step of MSH-GNN on a whole graph costs, on paper: bytes and operations from the sizes alone.

``N`` nodes, ``M`` directed edges, ``L`` layers of width ``d``, ``F`` projections of rank ``R``, ``K`` bands. The tables
of phases have :math:`T = 2 (R + 1) F` numbers per node, the sums over senders :math:`S = 2 K F`.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import nn

from mshgnn.nn.graph_model import GraphModel
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.open_norm import EXTRA_CHANNELS
from mshgnn.nn.update import ResidualUpdate
from mshgnn.ops.backends.cpu.plan import BUFFER_COPIES, BUFFER_FLOATS

FLOAT = 4
KEPT_WIDTHS = 6
"""Arrays of width ``d`` that a layer's update keeps for its gradient: the input of the batch norm, two outputs of ReLU,
the dropped states with their mask, and the next states ..."""
FREED_WIDTHS = 4
"""... and by how many the end of the model has shrunk when the last layer's sums get their gradient."""
EDGE_BYTES = 16 + 8 + 8 + 4
"""Per edge: the batch's two ends, the receiver order (senders, places), and the senders as the kernels read them."""
SINE = 20
"""Operations of a sine with its cosine."""
BACKWARD = 2
"""The gradient costs so many times what the forward pass costs."""


class Sizes(NamedTuple):
    """What of a model decides its cost."""

    in_channels: int
    out_channels: int
    width: int
    layers: int
    projections: int
    rank: int
    bands: int

    @property
    def table(self) -> int:
        """``T``: numbers of a node's phases, as receiver and as sender."""
        return 2 * (self.rank + 1) * self.projections

    @property
    def sums(self) -> int:
        """``S``: numbers of a node's sum over its senders."""
        return 2 * max(self.bands, 1) * self.projections

    @property
    def normed(self) -> int:
        """The width of normalised states."""
        return self.width + EXTRA_CHANNELS

    @property
    def kept(self) -> float:
        """Numbers that all layers keep of a node for the gradient."""
        ends = 4 * self.width + self.out_channels  # dropped states and masks of encoder and head, probabilities
        return self.layers * (self.normed + self.table + self.sums + KEPT_WIDTHS * self.width) + ends

    @property
    def node_flops(self) -> float:
        """Operations of a node, forward."""
        layer = self.normed * self.table + self.sums * self.width + 3 * self.width**2
        return 2 * (self.layers * layer + (self.in_channels + self.out_channels) * self.width)

    @property
    def edge_flops(self) -> float:
        """Operations of an edge, forward: phase, sine and cosine, doubled from band to band, and added up."""
        bands = max(self.bands, 1)
        return self.layers * self.projections * (2 * self.rank + 1 + SINE + 4 * (bands - 1) + 2 * bands)

    @property
    def edge_bytes_read(self) -> float:
        """Bytes fetched for an edge, forward: the sender's half of its table, from anywhere in memory."""
        return FLOAT * self.layers * (self.table / 2 + 1)


def sizes_of(model: nn.Module) -> Sizes | None:
    """The sizes of an MSH-GNN for nodes whose layers are like those of ``stable``; ``None`` for any other model."""
    if not isinstance(model, GraphModel) or model.task != "node" or model.encoder is None:
        return None
    layers = list(model.layers)
    conv = layers[0].get_submodule("message")
    if not isinstance(conv, MSHConv) or conv.rank is None or not isinstance(layers[0].update, ResidualUpdate):
        return None
    head = [module for module in model.head.modules() if isinstance(module, nn.Linear)]
    return Sizes(
        model.in_channels,
        head[-1].out_features,
        conv.out_channels,
        len(layers),
        conv.num_projections,
        conv.rank,
        conv.encoding.num_bands,
    )


def step_bytes(sizes: Sizes, nodes: int, edges: int) -> int:
    """The most that training holds at once besides the data set and the libraries.

    Everything is kept when the gradient begins; the most is then, or when the sums of the last layer get theirs. The
    batch has a copy of features and edges. A process that keeps freed memory for the next step, as ``mshgnn run`` does,
    holds more than that.
    """
    half = FLOAT * nodes * sizes.table // 2
    buffers = max(2 * half, min(BUFFER_COPIES * half, FLOAT * BUFFER_FLOATS))  # of the kernels, for senders' gradients
    of_sums = FLOAT * nodes * (sizes.sums + sizes.table - FREED_WIDTHS * sizes.width) + buffers
    of_logits = 2 * FLOAT * nodes * sizes.out_channels
    copied = FLOAT * nodes * sizes.in_channels + EDGE_BYTES * edges
    return int(copied + FLOAT * nodes * sizes.kept + max(of_sums, of_logits))


def step_flops(sizes: Sizes, nodes: int, edges: int) -> float:
    """Operations of a training step."""
    return (1 + BACKWARD) * (nodes * sizes.node_flops + edges * sizes.edge_flops)
