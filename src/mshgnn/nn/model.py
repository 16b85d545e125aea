"""MSHGNN: encoder, harmonic layers, readout, head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from torch import Tensor, nn
from torch_geometric.nn.inits import reset
from torch_geometric.utils import add_remaining_self_loops

from mshgnn.errors import UserError
from mshgnn.nn.block import UPDATES, HarmonicBlock, Update
from mshgnn.nn.checks import (
    check_choice,
    check_edge_features,
    check_features,
    check_number,
    check_positive,
    complete_batch,
)
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.encoder import Encoder
from mshgnn.nn.harmonic import checked_frequencies
from mshgnn.nn.head import make_head
from mshgnn.nn.msh_conv import Aggregation, MSHConv
from mshgnn.nn.norm import batch_norm
from mshgnn.nn.pooling import (
    FREQUENCY_REDUCTIONS,
    FUSIONS,
    GATES,
    AttentionPooling,
    FrequencyAwarePooling,
    Fusion,
    Gate,
    StatePooling,
)
from mshgnn.nn.presets import preset_options
from mshgnn.nn.pretrained import load_pretrained, write_pretrained

Task = Literal["graph", "node"]
Readout = Literal["frequency", "mean", "sum", "max", "attention"]
TASKS = ("graph", "node")
READOUTS = ("frequency", "mean", "sum", "max", "attention")


class MSHGNN(nn.Module):
    """Multi-scale harmonic graph neural network for graph- and node-level tasks.

    Linear encoder, ``num_layers`` harmonic blocks, then a readout and a head for graphs or a head on the nodes.
    The defaults are the preset ``stable``; ``MSHGNN.from_preset("paper", ...)`` and ``"released"`` set the
    same options otherwise.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes (or targets).
        task: ``"graph"`` or ``"node"``.
        hidden_channels: width ``d`` of the node states.
        num_layers: number of harmonic layers.
        num_projections: projections a receiver makes, ``F``.
        frequencies: numbers or a schedule by name, see :class:`HarmonicEncoding`.
        learn_frequencies: train the frequencies.
        phase: use the phase shift ``phi_v``.
        aggr: aggregation of the messages, see :class:`MSHConv`.
        self_loops: give a loop to every node that has none; the loops then come last among the edges.
        edge_dim: width of the edge features, ``None`` without.
        normalize: layer-normalise the states before the projection.
        phase_scale: where the learned scale of the phase starts; ``None``: as printed.
        relative_phases: start half of the phases on differences of the states, see :class:`MSHConv`.
        centered: take the mean of the cosines from the messages, see :class:`MSHConv`.
        update: what becomes of the message, see :class:`HarmonicBlock`.
        readout: ``"frequency"`` (:class:`FrequencyAwarePooling`), ``"mean"``, ``"sum"``, ``"max"`` of the node states,
            or ``"attention"`` over the final node states. Graph task only.
        readout_channels: width of the frequency-aware embedding.
        readout_reduce: ``"mean"`` or ``"sum"`` over the nodes in the frequency-aware readout.
        gate: gate of the frequency-aware readout, ``"sigmoid"`` or ``"softmax"``.
        fusion: how mean, sum and max join the layers: ``"weighted"``, ``"concat"`` or ``"last"``.
        embed_norm: batch-normalise the embedding before the head.
        head_layers: linear maps in the head, see :func:`make_head`.
        dropout: dropout rate in the updates and before the head; on node tasks on the encoded features too.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        task: Task = "graph",
        hidden_channels: int = 64,
        num_layers: int = 3,
        num_projections: int = 16,
        frequencies: Sequence[float] | str = (1.0, 2.0, 4.0),
        learn_frequencies: bool = False,
        phase: bool = True,
        aggr: Aggregation = "sum",
        self_loops: bool = False,
        edge_dim: int | None = None,
        normalize: bool = True,
        phase_scale: float | None = 0.3,
        relative_phases: bool = False,
        centered: bool = False,
        update: Update = "residual",
        readout: Readout = "sum",
        readout_channels: int = 16,
        readout_reduce: Literal["mean", "sum"] = "mean",
        gate: Gate = "sigmoid",
        fusion: Fusion = "concat",
        embed_norm: bool = True,
        head_layers: int = 1,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        for choice, chosen, choices in (
            ("task", task, TASKS),
            ("readout", readout, READOUTS),
            ("update", update, UPDATES),
            ("gate", gate, GATES),
            ("readout_reduce", readout_reduce, FREQUENCY_REDUCTIONS),
            ("fusion", fusion, FUSIONS),
        ):
            check_choice(choice, chosen, choices)
        for name, value in (
            ("in_channels", in_channels),
            ("out_channels", out_channels),
            ("hidden_channels", hidden_channels),
            ("num_layers", num_layers),
            ("readout_channels", readout_channels),
            ("head_layers", head_layers),
        ):
            check_positive(name, value)
        check_number("dropout", dropout)
        if not 0.0 <= dropout < 1.0:
            raise UserError(f"dropout must be in [0, 1), got {dropout}")
        self.options: dict[str, object] = {
            "in_channels": in_channels,
            "out_channels": out_channels,
            "task": task,
            "hidden_channels": hidden_channels,
            "num_layers": num_layers,
            "num_projections": num_projections,
            "frequencies": frequencies if isinstance(frequencies, str) else list(checked_frequencies(frequencies)),
            "learn_frequencies": learn_frequencies,
            "phase": phase,
            "aggr": aggr,
            "self_loops": self_loops,
            "edge_dim": edge_dim,
            "normalize": normalize,
            "phase_scale": phase_scale,
            "relative_phases": relative_phases,
            "centered": centered,
            "update": update,
            "readout": readout,
            "readout_channels": readout_channels,
            "readout_reduce": readout_reduce,
            "gate": gate,
            "fusion": fusion,
            "embed_norm": embed_norm,
            "head_layers": head_layers,
            "dropout": dropout,
        }
        self.task = task
        self.in_channels = in_channels
        self.edge_dim = edge_dim
        self.self_loops = self_loops
        self.encoder = Encoder(in_channels, hidden_channels)
        # The frequency-aware readout reads messages, so nobody would read the states after the last layer.
        pools_messages = task == "graph" and readout == "frequency"
        updates = [None if pools_messages and layer == num_layers - 1 else update for layer in range(num_layers)]
        self.blocks = nn.ModuleList(
            HarmonicBlock(
                MSHConv(
                    hidden_channels,
                    hidden_channels,
                    num_projections,
                    frequencies,
                    learn_frequencies=learn_frequencies,
                    phase=phase,
                    aggr=aggr,
                    edge_dim=edge_dim,
                    normalize=normalize,
                    phase_scale=phase_scale,
                    relative_phases=relative_phases,
                    centered=centered,
                    root_weight=block_update == "residual",
                ),
                block_update,
                dropout,
            )
            for block_update in updates
        )
        self.readout: FrequencyAwarePooling | StatePooling | AttentionPooling | None = None
        embed_channels = hidden_channels
        if task == "graph":
            if readout == "frequency":
                self.readout = FrequencyAwarePooling(
                    hidden_channels, readout_channels, num_layers, gate, readout_reduce
                )
                embed_channels = readout_channels
            elif readout == "attention":
                self.readout = AttentionPooling(hidden_channels)
            else:
                self.readout = StatePooling(num_layers + 1, readout, fusion)
                embed_channels = self.readout.fusion.out_channels(hidden_channels)
        self.embed_norm = batch_norm(embed_channels) if embed_norm else None
        self.dropout = nn.Dropout(dropout)
        self.head = make_head(embed_channels, hidden_channels, out_channels, head_layers, dropout)

    @classmethod
    def from_preset(cls, preset: str, in_channels: int, out_channels: int, **options: object) -> Self:
        """A model by preset: ``paper``, ``released`` or ``stable``; ``options`` override single options of it."""
        return cls(in_channels, out_channels, **preset_options(cls, preset, options))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in self.children():
            reset(module)

    @property
    def num_parameters(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits: ``[num_graphs, out_channels]`` for graphs, ``[N, out_channels]`` for nodes.

        Args:
            x: node features ``[N, in_channels]``, dense, sparse CSR or sparse COO.
            edge_index: edges, in any form :class:`MSHConv` takes.
            batch: graph of every node, ``[N]``; ``None``: all nodes are one graph.
            edge_attr: edge features ``[M, edge_dim]``.
            batch_size: number of graphs; saves reading ``batch`` and counts graphs without nodes.
        """
        embedding = self.embed(x, edge_index, batch, edge_attr=edge_attr, batch_size=batch_size)
        logits: Tensor = self.head(self.dropout(embedding))
        return logits

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The graph or node embedding that the head sees."""
        states, gated = self._run(x, edge_index, edge_attr)
        embedding = states[-1]
        if self.readout is not None:
            batch, batch_size = complete_batch(batch, batch_size, embedding.size(0), embedding.device)
            embedding = self.readout(gated or states, batch, batch_size)
        if self.embed_norm is not None:
            embedding = self.embed_norm(embedding)
        return embedding

    def edge_attention(self, x: Tensor, edge_index: Tensor, *, edge_attr: Tensor | None = None) -> list[Tensor]:
        """``alpha_vu`` of every edge and layer, ``L x [M]``; the readout must be frequency-aware.

        In the order of ``edge_index`` (row by row for a sparse one); with ``self_loops`` the loops, one a node, last.
        """
        if not isinstance(self.readout, FrequencyAwarePooling):
            raise UserError("edge_attention needs readout='frequency'")
        states, _ = self._run(x, edge_index, edge_attr)
        edge_index, edge_attr = self._edges(edge_index, edge_attr, x.size(0))
        edge_index = as_edge_index(edge_index, x.size(0), x.size(0))
        alphas = []
        for layer, (block, h) in enumerate(zip(self.blocks, states, strict=False)):
            assert isinstance(block, HarmonicBlock)
            messages = block.conv.edge_messages(h, edge_index, edge_attr)
            alphas.append(self.readout.attention(layer, messages, edge_index, x.size(0)))
        return alphas

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into ``folder``."""
        write_pretrained(self, self.options, Path(folder))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Read a model that :meth:`save_pretrained` wrote; a damaged or foreign folder is refused."""
        return load_pretrained(cls, Path(folder))

    def _run(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> tuple[list[Tensor], list[Tensor]]:
        check_features("x", x, self.in_channels, self.encoder.weight.dtype)
        edge_index, edge_attr = self._edges(edge_index, edge_attr, x.size(0))
        h = self.encoder(x)
        if self.task == "node":
            h = self.dropout(h)  # one graph is all there is to learn from, and its features are often a bag of words
        states, gated = [h], []
        pooling = self.readout if isinstance(self.readout, FrequencyAwarePooling) else None
        for layer, block in enumerate(self.blocks):
            gate = None if pooling is None else pooling.gate_weight(layer)
            h, g = block(h, edge_index, edge_attr, gate, "sigmoid" if pooling is None else pooling.gate)
            states.append(h)
            if g is not None:
                gated.append(g)
        return states, gated

    def _edges(self, edge_index: Tensor, edge_attr: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor | None]:
        if not self.self_loops:
            return edge_index, edge_attr
        edge_index = as_edge_index(edge_index, num_nodes, num_nodes)
        if edge_attr is not None:
            check_edge_features(edge_attr, self.edge_dim, edge_index.size(1), self.encoder.weight.dtype)
        looped: tuple[Tensor, Tensor | None] = add_remaining_self_loops(
            edge_index, edge_attr, fill_value=0.0, num_nodes=num_nodes
        )
        return looped
