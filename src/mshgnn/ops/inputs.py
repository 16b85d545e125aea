"""What one harmonic sum is given: how its phases come about, the graph, and what is done with each edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

from torch import Tensor

from mshgnn.errors import UserError
from mshgnn.ops.graph import INDEX_DTYPES, Graph, ReceiverCSR, sum_rows

GateActivation = Literal["sigmoid", "softmax"]
GATE_ACTIVATIONS = get_args(GateActivation)
BESIDE_PHASES = ("frequencies", "edge_phase", "edge_weight", "gate")
"""What has a gradient besides the phases."""
Shapes = Iterator[tuple[str, Tensor | None, tuple[int, ...]]]


class Generated(NamedTuple):
    r"""Phases of the full generator, :math:`p_{vu} = \mathrm{reshape}(W_f h_v + b_f)\, h_u + \phi_v`.

    Shapes: ``x_receiver [N, d_r]``, ``x_sender [S, d_s]``, ``weight [F d_s, d_r]`` (row ``f d_s + i`` makes entry
    ``(f, i)`` of ``F_v``), ``bias [F d_s]``, ``phase [N, F]`` or ``None``.
    """

    x_receiver: Tensor
    x_sender: Tensor
    weight: Tensor
    bias: Tensor
    phase: Tensor | None

    @property
    def num_projections(self) -> int:
        """``F``."""
        return self.weight.size(0) // self.x_sender.size(1)

    @property
    def num_receivers(self) -> int:
        """``N``."""
        return self.x_receiver.size(0)

    @property
    def num_senders(self) -> int:
        """``S``."""
        return self.x_sender.size(0)

    def tensors(self) -> dict[str, Tensor | None]:
        """What has a gradient, by name."""
        return self._asdict()

    def shapes(self) -> Shapes:
        """Every tensor with the shape it must have."""
        for name, matrix in (("x_receiver", self.x_receiver), ("x_sender", self.x_sender), ("weight", self.weight)):
            if matrix.dim() != 2:
                raise UserError(f"{name} must have two dimensions, got shape {list(matrix.shape)}")
        width, rows = self.x_sender.size(1), self.weight.size(0)
        if width == 0 or rows % width:
            raise UserError(
                f"weight must have num_projections * {width} rows for x_sender of width {width}, got {rows}"
            )
        yield "x_receiver", self.x_receiver, tuple(self.x_receiver.shape)
        yield "x_sender", self.x_sender, tuple(self.x_sender.shape)
        yield "weight", self.weight, (rows, self.x_receiver.size(1))
        yield "bias", self.bias, (rows,)
        yield "phase", self.phase, (self.num_receivers, self.num_projections)


class Factored(NamedTuple):
    r"""Phases of a generator of rank ``R`` per projection, from one table per side.

    .. math:: p_{vu} = T_v^0 + U_u^0 + \sum_{r=1}^{R} T_v^r\, U_u^r

    With :math:`T_v = [\phi_v \| A h_v]` and :math:`U_u = [b\, h_u \| B h_u]` this is the full generator whose
    projection ``f`` has the weights :math:`\sum_r B_{fr} A_{fr}^\top` and the bias :math:`b_f`.

    Shapes: ``receiver [N, (R + 1) F]`` and ``sender [S, (R + 1) F]``, block ``r`` in columns ``r F .. (r + 1) F``.
    Without ``sender``, senders are receivers and ``receiver [N, 2 (R + 1) F]`` holds both halves side by side.
    """

    receiver: Tensor
    sender: Tensor | None
    num_projections: int

    @property
    def rank(self) -> int:
        """``R``."""
        blocks = self.receiver.size(1) // self.num_projections
        return (blocks if self.sender is not None else blocks // 2) - 1

    def halves(self) -> tuple[Tensor, Tensor]:
        """``T [N, R + 1, F]`` and ``U [S, R + 1, F]``."""
        both = (self.receiver, self.sender) if self.sender is not None else self.receiver.chunk(2, dim=1)
        receiver, sender = (table.reshape(-1, self.rank + 1, self.num_projections) for table in both)
        return receiver, sender

    @property
    def num_receivers(self) -> int:
        """``N``."""
        return self.receiver.size(0)

    @property
    def num_senders(self) -> int:
        """``S``."""
        return (self.receiver if self.sender is None else self.sender).size(0)

    def tensors(self) -> dict[str, Tensor | None]:
        """What has a gradient, by name."""
        return {"receiver": self.receiver, "sender": self.sender}

    def shapes(self) -> Shapes:
        """Every tensor with the shape it must have."""
        if self.num_projections < 1:
            raise UserError(f"num_projections must be at least 1, got {self.num_projections}")
        if self.sender is not None and self.sender.dim() != 2:
            raise UserError(f"sender must have two dimensions, got shape {list(self.sender.shape)}")
        multiple = self.num_projections * (2 if self.sender is None else 1)
        if self.receiver.dim() != 2 or self.receiver.size(1) == 0 or self.receiver.size(1) % multiple:
            raise UserError(
                f"receiver must have two dimensions and a multiple of {multiple} columns, "
                f"got shape {list(self.receiver.shape)}"
            )
        yield "receiver", self.receiver, tuple(self.receiver.shape)
        yield "sender", self.sender, (self.num_senders, self.receiver.size(1))


Phases = Generated | Factored


class Inputs(NamedTuple):
    r"""The arguments of :func:`mshgnn.ops.harmonic_aggregate`.

    Args:
        phases: how :math:`p_{vu}` comes about.
        graph: the edges in receiver order, from :func:`mshgnn.ops.receiver_csr`.
        frequencies: :math:`w_1 .. w_K`, ``[K]``; ``K = 0`` lets the phase itself pass (:math:`\psi(p) = p`).
        edge_phase: added to the phases, ``[M, F]`` in the order of ``graph``, or ``None``.
        edge_weight: weighs the edges in the sums, ``[M]`` in the order of ``graph``, or ``None``.
        gate: :math:`a = W_o^\top W_1^\top`, ``[2KF]`` (``[F]`` when ``K = 0``), or ``None``.
        gate_activation: ``"sigmoid"``, or ``"softmax"`` over the incoming edges of a receiver.
    """

    phases: Phases
    graph: Graph
    frequencies: Tensor
    edge_phase: Tensor | None = None
    edge_weight: Tensor | None = None
    gate: Tensor | None = None
    gate_activation: GateActivation = "sigmoid"

    @property
    def example(self) -> Tensor:
        """A tensor that has the device and dtype of all."""
        return self.phases[0]

    @property
    def out_channels(self) -> int:
        """Width of :math:`\\psi`: ``2KF``, or ``F`` without frequencies."""
        return 2 * self.frequencies.numel() * self.phases.num_projections or self.phases.num_projections

    def total_weight(self) -> Tensor:
        """``sum_u c_vu`` of every receiver, ``[N, 1]``: the in-degree without weights."""
        if self.edge_weight is None:
            return self.graph.degree.unsqueeze(-1)
        return sum_rows(self.edge_weight, self.graph.receiver, self.graph.num_receivers).unsqueeze(-1)

    def tensors(self) -> dict[str, Tensor | None]:
        """Everything that has a gradient, by name, in the order of the operators' arguments."""
        return self.phases.tensors() | {name: getattr(self, name) for name in BESIDE_PHASES}

    def with_tensors(self, tensors: Mapping[str, Tensor | None]) -> Inputs:
        """The same with other values of :meth:`tensors`."""
        own: dict[str, Any] = {name: tensors[name] for name in self.phases.tensors()}
        beside: dict[str, Any] = {name: tensors[name] for name in BESIDE_PHASES}
        return self._replace(phases=self.phases._replace(**own), **beside)

    def check(self) -> None:
        """Raise ``UserError`` unless shapes and dtypes fit each other; the graph's indices are not looked at."""
        dtype = self.example.dtype
        if not self.example.is_floating_point():
            raise UserError(f"{next(iter(self.tensors()))} must be a floating point tensor, got {dtype}")
        num_edges = self.graph.sender.numel()
        expected = [
            *self.phases.shapes(),
            ("frequencies", self.frequencies, (self.frequencies.numel(),)),
            ("edge_phase", self.edge_phase, (num_edges, self.phases.num_projections)),
            ("edge_weight", self.edge_weight, (num_edges,)),
            ("gate", self.gate, (self.out_channels,)),
        ]
        for name, tensor, shape in expected:
            if tensor is None:
                continue
            if tuple(tensor.shape) != shape:
                raise UserError(f"{name} must have shape {list(shape)}, got {list(tensor.shape)}")
            if tensor.dtype != dtype:
                raise UserError(f"{name} must be {dtype} like the others, got {tensor.dtype}")
        if self.gate_activation not in GATE_ACTIVATIONS:
            raise UserError(f"gate_activation must be 'sigmoid' or 'softmax', got {self.gate_activation!r}")
        if not isinstance(self.graph, ReceiverCSR):
            return
        if tuple(self.graph.rowptr.shape) != (self.phases.num_receivers + 1,):
            raise UserError(
                f"graph.rowptr must have shape {[self.phases.num_receivers + 1]}, got {list(self.graph.rowptr.shape)}"
            )
        for name, index in (("graph.rowptr", self.graph.rowptr), ("graph.sender", self.graph.sender)):
            if index.dtype not in INDEX_DTYPES:
                raise UserError(f"{name} must be int32 or int64, got {index.dtype}")
