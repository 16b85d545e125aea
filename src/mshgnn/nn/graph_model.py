"""One model around any message: everything but the message is the same, so a comparison compares the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

from torch import Tensor, nn
from torch_geometric.utils import add_remaining_self_loops

from mshgnn.errors import UserError
from mshgnn.nn.checks import check_edge_features
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder, as_dense
from mshgnn.nn.head import make_head
from mshgnn.nn.model import Graphs, Model, Task
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.neighbour_sums import receiver_rows, sum_neighbours
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.options import Between, Depth, Share, Width, checked
from mshgnn.nn.readout import READOUTS, FrequencyReduction, Fusion, Gate, ReadoutName, make_readout
from mshgnn.nn.sampled import reads_senders_degree, scale_of_sample
from mshgnn.nn.update import UPDATES, Update, UpdateName
from mshgnn.structure.neighbourhood import Neighbourhood


class GraphModel(Model):
    r"""Linear encoder (or none), layers around any message, readout, head; for graphs and for nodes.

    .. math::
        h^0 = W_e x + b_e, \qquad
        h^{l+1} = \mathrm{update}(h^l, \mathrm{message}(h^l))

    A graph's embedding is its readout, a node's is its last state. Batch norm brings it to one scale before the head.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        make_message: makes the message of one layer, ``make_message(hidden_channels)``: a module that keeps
            the width, called as ``message(h, edge_index)``, or ``message(h, edge_index, edge_attr)`` with ``edge_dim``.
            Any convolution of PyG will do. With ``raw_up_to`` it is called for the first layer as
            ``make_message(in_channels, message_channels)``.
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width ``d`` of the node states.
        num_layers: number of layers.
        edge_dim: width of the edge features that the message takes, ``None`` without.
        raw_up_to: inputs of at most so many features go to the first layer as they are, without an encoder. An update
            that keeps the width, and a readout of the states of all layers, have an encoder whatever it says.
        self_loops: give a loop to every node that has none; the loops then come last among the edges.
        update: what becomes of the message, see :mod:`mshgnn.nn.update`.
        readout: ``"mean"``, ``"sum"``, ``"max"`` of the node states, ``"attention"`` over the final node states, or
            ``"frequency"`` (:class:`FrequencyAwarePooling`, for :class:`MSHConv` alone). Graph task only.
        readout_channels: width of the frequency-aware embedding.
        readout_reduce: ``"mean"`` or ``"sum"`` over the nodes in the frequency-aware readout.
        gate: gate of the frequency-aware readout, ``"sigmoid"`` or ``"softmax"``.
        fusion: how mean, sum and max join the layers: ``"weighted"``, ``"concat"`` or ``"last"``.
        embed_norm: batch-normalise the embedding before the head.
        head_layers: linear maps in the head, see :func:`make_head`.
        dropout: share dropped in the updates and before the head; on node tasks of the encoded features too.
    """

    @checked
    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        make_message: Callable[..., nn.Module],
        *,
        task: Task = "graph",
        hidden_channels: Width = 64,
        num_layers: Depth = 3,
        edge_dim: Width | None = None,
        raw_up_to: Annotated[int, Between(0, 100_000)] = 0,
        self_loops: bool = False,
        update: UpdateName = "residual",
        readout: ReadoutName = "sum",
        readout_channels: Width = 16,
        readout_reduce: FrequencyReduction = "mean",
        gate: Gate = "sigmoid",
        fusion: Fusion = "concat",
        embed_norm: bool = True,
        head_layers: Depth = 1,
        dropout: Share = 0.1,
    ) -> None:
        super().__init__(in_channels, task, edge_dim)
        self.self_loops = self_loops
        one_width = task == "graph" and READOUTS[readout].one_width
        raw = in_channels <= raw_up_to and UPDATES[update].changes_width and not one_width
        self.encoder = None if raw else Encoder(in_channels, hidden_channels)
        widths = [in_channels if raw else hidden_channels, *[hidden_channels] * (num_layers - 1)]
        message_channels = [UPDATES[update].message_channels(width, hidden_channels) for width in widths]
        # Under a readout of messages nobody would read the states after the last layer.
        idle = num_layers - 1 if task == "graph" and READOUTS[readout].reads == "messages" else None
        self.layers = nn.ModuleList(
            Layer(
                make_message(*((width, channels) if raw and layer == 0 else (hidden_channels,))),
                None if layer == idle else UPDATES[update](width, hidden_channels, dropout),
            )
            for layer, (width, channels) in enumerate(zip(widths, message_channels, strict=True))
        )
        self.readout = None
        embed_channels = hidden_channels
        if task == "graph":
            self.readout = make_readout(
                readout,
                hidden_channels,
                num_layers,
                message_channels=message_channels,
                readout_channels=readout_channels,
                readout_reduce=readout_reduce,
                gate=gate,
                fusion=fusion,
            )
            embed_channels = self.readout.out_channels
            if self.readout.reads == "messages" and not self._harmonic:
                raise UserError(f"readout {readout!r} reads messages one by one, which MSHConv alone gives")
        self.norm = batch_norm(embed_channels) if embed_norm else None
        self.feature_dropout = nn.Dropout(dropout if task == "node" else 0.0)
        drop_input = self.readout is None or self.readout.dropped_before
        self.head = make_head(
            embed_channels, hidden_channels, out_channels, head_layers, dropout, drop_input=drop_input
        )

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
        neighbourhood: Neighbourhood | None = None,
    ) -> Tensor:
        """As :meth:`Model.forward`; with a ``neighbourhood`` the logits of its targets alone, ``[nodes[0], out]``."""
        if neighbourhood is None:
            return super().forward(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size)
        self._check_input(x, batch, edge_attr, batch_size)
        h = self.encode(x)
        for number in range(len(self.layers)):
            receivers, edges = neighbourhood.of_layer(number)
            attributes = None if edge_attr is None else edge_attr[:edges]
            degree = neighbourhood.degree[:receivers]
            h = self.advance(number, h, edge_index[:, :edges], attributes, receivers=receivers, degree=degree)
        return self.decode(h)

    @property
    def hops(self) -> int | None:
        """From how many hops away nodes reach another's output, each step by incoming edges alone.

        ``None`` on graph tasks, and where a message also reads how many edges its senders have.
        """
        exact = self.task == "node" and not any(map(reads_senders_degree, self.messages))
        return len(self.layers) if exact else None

    def encode(self, x: Tensor) -> Tensor:
        """The first states ``[N, d]`` of a node task, whose features are often a bag of words: dropout takes some."""
        return as_dense(x) if self.encoder is None else self.feature_dropout(self.encoder(x))

    def advance(
        self,
        number: int,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        *,
        receivers: int,
        degree: Tensor | None = None,
    ) -> Tensor:
        """One layer of a node task for the first ``receivers`` nodes: their next states ``[receivers, d]``.

        Args:
            number: of the layer, from 0.
            h: states ``[n, d]``: the receivers, then whoever else sends to them.
            edge_index: edges ``[2, m]`` to the receivers.
            edge_attr: their features ``[m, edge_dim]``.
            receivers: how many nodes get new states.
            degree: their number of senders in the whole graph, where the edges are a sample.
        """
        scale = None if degree is None else scale_of_sample(self.messages[number], degree, edge_index[1])
        edges, edge_attr = self._edges(edge_index, edge_attr, h.size(0))
        if sum_neighbours(self.messages):
            edges = receiver_rows(edges, h)
        layer = self.layers[number]
        assert isinstance(layer, Layer)
        return layer.first(h, edges, edge_attr, receivers, scale)

    def sender_rows(self, number: int, h: Tensor) -> Tensor | None:
        """All that layer ``number`` reads of senders with states ``h [n, d]``: a row of each, ``[n, w]``.

        ``None`` where the message takes the states themselves: then :meth:`advance` is the only way.
        """
        message = self.messages[number]
        return message.sender_rows(h) if isinstance(message, MSHConv) and not self.self_loops else None

    def advance_from(
        self, number: int, h: Tensor, rows: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None
    ) -> Tensor:
        """One layer of a node task for nodes with states ``h [n, d]``, whose senders have these :meth:`sender_rows`.

        ``edge_index [2, m]`` names senders by their place in ``rows``, receivers by theirs in ``h``.
        """
        layer = self.layers[number]
        assert isinstance(layer, Layer)
        assert isinstance(layer.message, MSHConv)
        return layer.next_states(h, layer.message.from_rows(rows, h, edge_index, edge_attr))

    def embedding_of(self, h: Tensor) -> Tensor:
        """The embeddings that the head sees of last states ``[n, d]`` of a node task, or of a readout."""
        return h if self.norm is None else self.norm(h)

    def decode(self, h: Tensor) -> Tensor:
        """The logits ``[n, out]`` of last states ``[n, d]`` of a node task."""
        logits: Tensor = self.head(self.embedding_of(h))
        return logits

    def _embedding(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, graphs: Graphs | None) -> Tensor:
        layers = self._run(x, edge_index, edge_attr)
        if self.readout is None or graphs is None:
            *_, (embedding, _) = layers
        elif self.readout.reads == "messages":
            embedding = self.readout((gated for _, gated in layers if gated is not None), *graphs)
        else:
            embedding = self.readout((h for h, _ in layers), *graphs)
        return self.embedding_of(embedding)

    def _run(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Iterator[tuple[Tensor, Tensor | None]]:
        """The node states ``[N, d]``, the encoder's first, each with the gated sums of its layer's messages."""
        edges, edge_attr = self._edges(edge_index, edge_attr, x.size(0))
        h = self.encode(x)
        yield h, None
        if sum_neighbours(self.messages):
            edges = receiver_rows(edges, h)
        for number, layer in enumerate(self.layers):
            gate = None if self.readout is None else self.readout.gate_weight(number)
            h, gated = layer(h, edges, edge_attr, gate, "sigmoid" if self.readout is None else self.readout.gate)
            yield h, gated

    def _edges(self, edge_index: Tensor, edge_attr: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor | None]:
        """The edges that the messages see: :class:`MSHConv` takes and checks any form, others a plain ``[2, M]``."""
        if self._harmonic and not self.self_loops:
            return edge_index, edge_attr
        edge_index = as_edge_index(edge_index, num_nodes, num_nodes)
        check_edge_features(edge_attr, self.edge_dim, edge_index.size(1), next(self.parameters()).dtype)
        if not self.self_loops:
            return edge_index, edge_attr
        return add_remaining_self_loops(edge_index, edge_attr, fill_value=0.0, num_nodes=num_nodes)

    @property
    def messages(self) -> list[nn.Module]:
        """The message of every layer."""
        return [layer.get_submodule("message") for layer in self.layers]

    @property
    def _harmonic(self) -> bool:
        return all(isinstance(message, MSHConv) for message in self.messages)


class Layer(nn.Module):
    """A message and its update; without an update the states stay as they are."""

    def __init__(self, message: nn.Module, update: Update | None) -> None:
        super().__init__()
        self.message = message
        self.update = update

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        gate: Tensor | None = None,
        gate_activation: Gate = "sigmoid",
    ) -> tuple[Tensor, Tensor | None]:
        """The next states ``[N, d]`` and, with a gate, ``sum_u alpha Psi [N, d]``."""
        gated: Tensor | None = None
        root = None if self.update is None else self.update.root
        # First of all, for the order of calls is the order in which gradients are summed.
        own = None if root is None else root(h)
        if gate is not None:
            assert isinstance(self.message, MSHConv)
            m, gated = self.message.forward_gated(h, edge_index, edge_attr, gate, gate_activation)
        elif edge_attr is not None:
            m = self.message(h, edge_index, edge_attr)
        else:
            m = self.message(h, edge_index)
        if self.update is None:
            return h, gated
        return self.update(h, m if own is None else own + m), gated

    def first(
        self, h: Tensor, edge_index: Tensor, edge_attr: Tensor | None, receivers: int, scale: Tensor | None
    ) -> Tensor:
        """The next states of the first ``receivers`` nodes ``[receivers, d]``, their messages times ``scale``.

        Only they have all their edges, so only they are seen by the update and its batch norm.
        """
        m = self.message(h, edge_index) if edge_attr is None else self.message(h, edge_index, edge_attr)
        m, own = m[:receivers], h[:receivers]
        return self.next_states(own, m if scale is None else m * scale)

    def next_states(self, h: Tensor, m: Tensor) -> Tensor:
        """What the update makes of states and messages, both ``[N, d]``."""
        assert self.update is not None
        found: Tensor = self.update(h, m if self.update.root is None else self.update.root(h) + m)
        return found
