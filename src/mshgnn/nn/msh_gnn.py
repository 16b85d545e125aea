"""MSHGNN: the harmonic message in the model that every message has, and its presets."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import Any, Self

from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.nn.checks import check_features
from mshgnn.nn.cost import sizes_of, step_bytes
from mshgnn.nn.edges import as_edge_index
from mshgnn.nn.graph_model import GraphModel
from mshgnn.nn.model import Task
from mshgnn.nn.msh_conv import MSHConv
from mshgnn.nn.options import Width, options_of, resolve_options
from mshgnn.nn.readout import FrequencyAwarePooling
from mshgnn.nn.response import band_energy

NARROW = 512
"""Inputs up to this width go into the first layer of `paper` and `released` as they are: every TU set's. On wider ones,
bags of words, the generator alone would have ``F d^2`` weights, a thousand million on Coauthor Physics."""

PRESETS: dict[str, dict[str, object]] = {
    # The equations as printed: they know no encoder.
    "paper": {
        "raw_up_to": NARROW,
        "hidden_channels": 64,
        "num_layers": 3,
        "num_projections": 16,
        "rank": None,
        "phase": True,
        "aggr": "sum",
        "self_loops": False,
        "normalize": False,
        "phase_scale": None,
        "update": "mlp",
        "readout": "frequency",
        "readout_channels": 16,
        "readout_reduce": "mean",
        "embed_norm": False,
        "dropout": 0.1,
    },
    # What the authors' public code computes.
    "released": {
        "raw_up_to": NARROW,
        "head_layers": 2,
        "hidden_channels": 64,
        "num_layers": 2,
        "num_projections": 64,
        "rank": None,
        "phase": False,
        "aggr": "mean",
        "self_loops": True,
        "normalize": False,
        "phase_scale": None,
        "update": "concat",
        "readout": "attention",
        "embed_norm": False,
        "dropout": 0.1,
    },
    # The defaults of MSHGNN.
    "stable": {},
}

CONV_OPTIONS = {
    name: option.replace(kind=Parameter.KEYWORD_ONLY)
    for name, option in options_of(MSHConv).items()
    if name not in ("edge_dim", "root_weight")  # the model has the first already, and its update the second
}
MSHGNN_OPTIONS = {**options_of(GraphModel), **CONV_OPTIONS}


class MSHGNN(GraphModel):
    """Multi-scale harmonic graph neural network for graph- and node-level tasks: :class:`GraphModel` of MSHConv.

    The defaults are the preset ``stable``; ``MSHGNN.from_preset("paper", ...)`` and ``"released"`` set the same options
    otherwise.

    Args:
        in_channels: width of the node features.
        out_channels: number of classes, or of targets.
        task: ``"graph"`` or ``"node"``.
        **options: those of :class:`GraphModel` (``hidden_channels``, ``num_layers``, ``readout``, ``dropout``, ...) and
            of :class:`MSHConv` (``num_projections``, ``frequencies``, ``aggr``, ...), with their defaults.
    """

    __signature__ = Signature(
        [
            Parameter("in_channels", Parameter.POSITIONAL_OR_KEYWORD, annotation=Width),
            Parameter("out_channels", Parameter.POSITIONAL_OR_KEYWORD, annotation=Width),
            Parameter("task", Parameter.KEYWORD_ONLY, default="graph", annotation=Task),
            *MSHGNN_OPTIONS.values(),
        ]
    )

    def __init__(self, in_channels: int, out_channels: int, *, task: Task = "graph", **options: Any) -> None:
        shell = resolve_options("MSHGNN", MSHGNN_OPTIONS, options)
        conv = {name: shell.pop(name) for name in CONV_OPTIONS}
        edge_dim = shell["edge_dim"]
        super().__init__(
            in_channels,
            out_channels,
            lambda channels, out=None: MSHConv(channels, out or channels, edge_dim=edge_dim, root_weight=False, **conv),
            task=task,
            **shell,
        )
        self.options |= conv

    @classmethod
    def from_preset(cls, preset: str, in_channels: int, out_channels: int, **options: Any) -> Self:
        """A model by preset: ``paper``, ``released`` or ``stable``; ``options`` override single options of it."""
        if preset not in PRESETS:
            raise UserError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        return cls(in_channels, out_channels, **{**PRESETS[preset], **options})

    def step_bytes(self, nodes: int, edges: int) -> int | None:
        """What a training step on a whole graph of this size holds beside the data; ``None``: it cannot say.

        See :mod:`mshgnn.nn.cost`.
        """
        sizes = sizes_of(self)
        return None if sizes is None else step_bytes(sizes, nodes, edges)

    def edge_attention(self, x: Tensor, edge_index: Tensor, *, edge_attr: Tensor | None = None) -> list[Tensor]:
        """``alpha_vu`` of every edge and layer, ``L x [M]``; the readout must be frequency-aware.

        In the order of ``edge_index`` (row by row for a sparse one); with ``self_loops`` the loops, one per node, last.
        """
        if not isinstance(self.readout, FrequencyAwarePooling):
            raise UserError("edge_attention needs readout='frequency'")
        alphas = []
        for layer, (message, h, edges, attributes) in enumerate(self._messages_of(x, edge_index, edge_attr)):
            messages = message.edge_messages(h, edges, attributes)
            alphas.append(self.readout.attention(layer, messages, edges, x.size(0)))
        return alphas

    def band_energy(self, x: Tensor, edge_index: Tensor, *, edge_attr: Tensor | None = None) -> list[Tensor]:
        """The energy of every edge's message by band, ``L x [M, K]``, see :func:`mshgnn.nn.response.band_energy`.

        In the order of :meth:`edge_attention`.
        """
        layers = self._messages_of(x, edge_index, edge_attr)
        return [band_energy(message, h, edges, attributes) for message, h, edges, attributes in layers]

    def _messages_of(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None
    ) -> Iterator[tuple[MSHConv, Tensor, Tensor, Tensor | None]]:
        """Every layer's message with what it is given: node states, edges ``[2, M]``, edge features."""
        check_features("x", x, self.in_channels, next(self.parameters()).dtype)
        states = [h for h, _ in self._run(x, edge_index, edge_attr)]
        edge_index, edge_attr = self._edges(edge_index, edge_attr, x.size(0))
        edge_index = as_edge_index(edge_index, x.size(0), x.size(0))
        for message, h in zip(self.messages, states, strict=False):
            assert isinstance(message, MSHConv)
            yield message, h, edge_index, edge_attr
