"""From nodes to graphs. A readout says what it reads, the node states of the layers or their messages, and how wide
its result is; a new one is a class here and a name in ``READOUTS``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import AttentionalAggregation, global_add_pool, global_max_pool, global_mean_pool

from mshgnn.errors import UserError
from mshgnn.nn.edges import in_edge_order
from mshgnn.nn.options import Depth, Width, checked
from mshgnn.ops import gate_values, receiver_csr

ReadoutName = Literal["frequency", "mean", "sum", "max", "attention"]
Gate = Literal["sigmoid", "softmax"]
Reduction = Literal["mean", "sum", "max"]
FrequencyReduction = Literal["mean", "sum"]
Fusion = Literal["weighted", "concat", "last"]

_POOL = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def pool_nodes(x: Tensor, batch: Tensor, batch_size: int, reduce: str) -> Tensor:
    """Reduce node vectors ``[N, d]`` to one vector per graph ``[batch_size, d]``; a graph without nodes gets zeros."""
    return _POOL[reduce](x, batch, size=batch_size)


class Readout(nn.Module):
    """From what the layers give for nodes to one vector per graph."""

    reads: ClassVar[Literal["states", "messages"]] = "states"
    """``"states"``: the encoder's and those after every layer, ``(L + 1) x [N, d]``. ``"messages"``: the gated sums
    of every layer's messages, ``L x [N, d]``, which :class:`MSHConv` alone gives."""
    out_channels: int
    """Width of the vector of a graph."""
    one_width: ClassVar[bool] = False
    """Whether the layers that it reads must all be equally wide."""
    dropped_before: ClassVar[bool] = True
    """Whether the head begins with a dropout of the vector."""
    gate: Gate = "sigmoid"

    def gate_weight(self, layer: int) -> Tensor | None:
        """``W_1 [d]`` of a layer, for a readout of messages."""
        return None

    def forward(self, layers: Iterable[Tensor], batch: Tensor, batch_size: int) -> Tensor:
        """Reduce the layers, one after another as they are made, to ``[batch_size, out_channels]``."""
        raise NotImplementedError


class LayerFusion(nn.Module):
    r"""Fuse one graph vector per layer into one: :math:`h_G = \sum_l w_l h_G^l`, their concatenation, or the last.

    The learned weights start at ``1 / L``.
    """

    def __init__(self, num_layers: int, mode: Fusion) -> None:
        super().__init__()
        self.mode = mode
        self.num_layers = num_layers
        self.weight = nn.Parameter(torch.empty(num_layers)) if mode == "weighted" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weigh all layers alike."""
        if self.weight is not None:
            nn.init.constant_(self.weight, 1.0 / self.num_layers)

    def out_channels(self, channels: int) -> int:
        """Width of the fused vector for layers of width ``channels``."""
        return channels * self.num_layers if self.mode == "concat" else channels

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Fuse ``L`` tensors ``[G, d]``."""
        if self.mode == "last":
            return layers[-1]
        if self.weight is None:
            return torch.cat(list(layers), dim=-1)
        return torch.stack([w * h for w, h in zip(self.weight, layers, strict=True)]).sum(0)


class FrequencyAwarePooling(Readout):
    r"""Pool the harmonic messages of all layers, each edge weighed by a gate on its own message.

    .. math::
        \alpha_{vu} = \sigma(W_1 \Psi_{vu}), \qquad
        g_v = \sum_u \alpha_{vu} W_2 \Psi_{vu}, \qquad
        h_G = \sum_l w_l \, \frac{1}{|V|} \sum_v g_v^l

    ``W_2`` is linear, so the layer hands over :math:`\sum_u \alpha_{vu} \Psi_{vu}` from :meth:`MSHConv.forward_gated`
    and no per-edge message exists. The mean over nodes cannot tell a graph from two copies of it; ``reduce="sum"`` can.

    Args:
        in_channels: width of the messages, or that of every layer's.
        out_channels: width of the graph embedding (16 in the paper).
        num_layers: number of harmonic layers ``L``.
        gate: ``"sigmoid"``, or ``"softmax"`` over the incoming edges of a node.
        reduce: ``"mean"`` (the paper) or ``"sum"`` over the nodes.
    """

    reads = "messages"
    model_options = ("readout_channels", "readout_reduce", "gate")
    """What it takes of a model's options."""

    @checked
    def __init__(
        self,
        in_channels: Width | Sequence[Width],
        out_channels: Width,
        num_layers: Depth,
        gate: Gate = "sigmoid",
        reduce: FrequencyReduction = "mean",
    ) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.gate = gate
        self.reduce = reduce
        widths = [in_channels] * num_layers if isinstance(in_channels, int) else list(in_channels)
        if len(widths) != num_layers:
            raise UserError(f"in_channels must hold one width per layer, {num_layers}, got {len(widths)}")
        self.scores = nn.ModuleList(nn.Linear(width, 1, bias=False) for width in widths)
        self.values = nn.ModuleList(nn.Linear(width, out_channels, bias=False) for width in widths)
        self.fusion = LayerFusion(num_layers, "weighted")

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for linear in (*self.scores, *self.values):
            assert isinstance(linear, nn.Linear)
            linear.reset_parameters()
        self.fusion.reset_parameters()

    def gate_weight(self, layer: int) -> Tensor:
        """``W_1`` of a layer, ``[in_channels]``."""
        score = self.scores[layer]
        assert isinstance(score, nn.Linear)
        return score.weight.view(-1)

    def attention(self, layer: int, messages: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
        """``alpha_vu`` of every edge, ``[M]``, from its messages ``[M, in_channels]``, both in ``edge_index`` order."""
        csr = receiver_csr(edge_index, num_nodes, num_nodes)
        alpha = gate_values((messages @ self.gate_weight(layer))[csr.order], csr, self.gate)
        return in_edge_order(alpha, csr)

    def forward(self, layers: Iterable[Tensor], batch: Tensor, batch_size: int) -> Tensor:
        """Pool ``sum_u alpha Psi`` of all layers, ``L x [N, in_channels]``, to ``[batch_size, out_channels]``."""
        gated = list(layers)
        if len(gated) != len(self.values):
            raise UserError(f"layers must hold one tensor per layer, {len(self.values)}, got {len(gated)}")
        return self.fusion(
            [pool_nodes(value(g), batch, batch_size, self.reduce) for value, g in zip(self.values, gated, strict=True)]
        )


class StatePooling(Readout):
    """Pool the node states of the layers: mean, sum or max over the nodes, then :class:`LayerFusion`."""

    one_width = True

    def __init__(self, channels: int, num_states: int, reduce: Reduction, fusion: Fusion) -> None:
        super().__init__()
        self.reduce = reduce
        self.fusion = LayerFusion(num_states, fusion)
        self.out_channels = self.fusion.out_channels(channels)

    def reset_parameters(self) -> None:
        """Weigh all layers alike."""
        self.fusion.reset_parameters()

    def forward(self, layers: Iterable[Tensor], batch: Tensor, batch_size: int) -> Tensor:
        """Pool states ``(L + 1) x [N, d]`` to ``[batch_size, d]`` (``(L + 1) d`` wide when concatenated)."""
        return self.fusion([pool_nodes(state, batch, batch_size, self.reduce) for state in layers])


class AttentionPooling(Readout):
    r"""Gated attention over the final node states, as the authors' code has it.

    .. math::
        h_G = \sum_v \mathrm{softmax}_v\big(\mathrm{sigmoid}(W_g h_v + b_g)\big)\, \mathrm{relu}(W h_v + b)

    The states were dropped already, so the head drops no more of their sum.
    """

    dropped_before = False

    def __init__(self, channels: int) -> None:
        super().__init__()
        gate = nn.Sequential(nn.Linear(channels, 1), nn.Sigmoid())
        self.aggregation = AttentionalAggregation(gate, nn.Sequential(nn.Linear(channels, channels), nn.ReLU()))
        self.out_channels = channels

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.aggregation.reset_parameters()

    def forward(self, layers: Iterable[Tensor], batch: Tensor, batch_size: int) -> Tensor:
        """Pool the last of the states ``[N, d]`` to ``[batch_size, d]``."""
        *_, last = layers
        return self.aggregation(last, batch, dim_size=batch_size)


READOUTS: dict[ReadoutName, type[Readout]] = {
    "frequency": FrequencyAwarePooling,
    "mean": StatePooling,
    "sum": StatePooling,
    "max": StatePooling,
    "attention": AttentionPooling,
}


def make_readout(
    name: ReadoutName,
    channels: int,
    num_layers: int,
    *,
    message_channels: Sequence[int],
    readout_channels: int,
    readout_reduce: FrequencyReduction,
    gate: Gate,
    fusion: Fusion,
) -> Readout:
    """The readout of this name for ``num_layers`` layers of width ``channels``; it takes of the options what it has."""
    if name == "frequency":
        return FrequencyAwarePooling(message_channels, readout_channels, num_layers, gate, readout_reduce)
    if name == "attention":
        return AttentionPooling(channels)
    return StatePooling(channels, num_layers + 1, name, fusion)
