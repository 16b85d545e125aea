"""Running the full generator: its tiles by BLAS, everything per edge in numba kernels.

Forward, for every tile of every chunk of receivers: ``F_v`` of the tile in one matrix product, then the kernel reads it
for all edges of its receivers. Backward: the same again, the kernel turns the tile into ``dF_v``, and two matrix
products make its share of ``dW_f`` and ``dh_v``. Saved for backward are the inputs alone, and on small graphs ``F_v``
and the phases. Chunks have their own buffers, summed in order: the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from mshgnn.ops.backends.cpu.arrays import (
    Floats,
    add_senders,
    are_doubling,
    flat,
    gating_of,
    graph_of,
    lanes_for,
    make_outputs,
    per_edge,
    single,
)
from mshgnn.ops.backends.cpu.compile import kernels, register_width
from mshgnn.ops.backends.cpu.plan import Cost, Plan, plan_for
from mshgnn.ops.backends.cpu.threads import run_chunks
from mshgnn.ops.inputs import Generated, Inputs

WORKSPACE_FLOATS = 2**22  # a workspace of more than 16 MB is not kept
WIDE = 16  # the sender width is padded to a multiple of this, the largest register
KEPT_FLOATS = 2**23  # F_v and phases of at most 32 MB each are kept for the backward pass


class Layer(NamedTuple):
    """The arguments of one call in the shapes the kernels want: padded, contiguous, as flat numpy arrays."""

    lanes: int
    num_projections: int
    padded_width: int  # D
    padded_projections: int  # F
    plan: Plan
    x_receiver: Tensor  # [N, d_r]
    by_feature: Tensor  # [d_r, D * F]
    by_projection: Tensor  # [F * D, d_r]
    arrays: tuple[Any, ...]  # the arguments forward and backward share

    def tile_rows(self) -> int:
        """Receivers of the largest tile."""
        return max((chunk.tiles[0][1] - chunk.tiles[0][0] for chunk in self.plan.chunks), default=0)


class Kept(NamedTuple):
    """What a forward pass on a small graph leaves for the backward pass, which uses it up."""

    layer: Layer
    projections: Tensor  # F_v of all receivers, [N, D * F]
    phases: Floats  # p_vu of all edges, [M * F]


class _Workspace:
    """Room for one tile and for the phases of the receiver with the most edges.

    Kept from call to call: fresh pages would cost more than the kernels themselves on small graphs.
    """

    def __init__(self) -> None:
        self._tile, self._phases = torch.empty(0), np.empty(0, np.float32)

    def tile(self, layer: Layer) -> Tensor:
        rows, floats = layer.tile_rows(), layer.padded_width * layer.padded_projections
        if self._tile.numel() < rows * floats:
            self._tile = torch.empty(rows * floats)
        return self._tile[: rows * floats].view(rows, floats)

    def phases(self, layer: Layer) -> Floats:
        floats = layer.plan.largest_degree * layer.padded_projections
        if self._phases.size < floats:
            self._phases = np.empty(floats, np.float32)
        return self._phases[:floats]

    def is_small(self) -> bool:
        return self._tile.numel() + self._phases.size <= WORKSPACE_FLOATS


class _Workspaces:
    """Those not in use: a chunk takes one and gives it back. Taking from a list and giving back are atomic."""

    def __init__(self) -> None:
        self._free: list[_Workspace] = []

    @contextmanager
    def one(self) -> Iterator[_Workspace]:
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = _Workspace()
        yield workspace
        if workspace.is_small():
            self._free.append(workspace)


_workspaces = _Workspaces()


def _prepare(inputs: Inputs) -> Layer:
    x_receiver, x_sender, weight, bias, phase = _generated(inputs)
    num_senders, width = x_sender.shape
    receiver_width = x_receiver.size(1)
    num_projections = weight.size(0) // width
    projection = width * num_projections
    plan = plan_for(graph_of(inputs), num_senders, Cost(projection * receiver_width, projection, width, projection))
    lanes = lanes_for(num_projections)
    more, more_projections = -width % WIDE, -num_projections % lanes
    D, F = width + more, num_projections + more_projections
    w = weight.detach().view(num_projections, width, receiver_width)
    b = bias.detach().view(num_projections, width)
    x = x_sender.detach()
    a = inputs.gate
    if more:
        x = pad(x, (0, more))
    if more or more_projections:
        w = pad(w, (0, 0, 0, more, 0, more_projections))
        b = pad(b, (0, more, 0, more_projections))
    if a is not None and more_projections:
        a = pad(a.detach().view(-1, num_projections), (0, more_projections))
    w = w.contiguous()
    arrays = (
        flat(b.t()),
        flat(x),
        flat(phase),
        plan.rowptr,
        plan.senders,
        flat(inputs.edge_phase),
        flat(inputs.edge_weight),
        flat(inputs.frequencies),
        are_doubling(inputs.frequencies),
        flat(a),
        gating_of(inputs),
        num_projections,
        D,
        F,
    )
    by_projection = w.view(F * D, receiver_width)
    # numpy copies on this thread: torch would wake its own threads, which then spin while ours work
    by_feature = torch.from_numpy(w.numpy().transpose(2, 1, 0).reshape(receiver_width, D * F))
    x_receiver = x_receiver.detach().contiguous()
    return Layer(lanes, num_projections, D, F, plan, x_receiver, by_feature, by_projection, arrays)


def forward(inputs: Inputs, keep: bool) -> tuple[Tensor, Tensor | None, Kept | None]:
    """``S``, with a gate ``G``, and with ``keep`` what the backward pass can use if the graph is small."""
    layer = _prepare(inputs)
    num_receivers, projection = inputs.phases.num_receivers, layer.padded_width * layer.padded_projections
    num_phases = layer.plan.senders.size * layer.padded_projections
    S, G, outputs = make_outputs(inputs)
    kernel = kernels(layer.lanes, register_width())[0]
    kept = None
    if keep and max(num_receivers * projection, num_phases) <= KEPT_FLOATS:
        kept = Kept(layer, torch.empty(num_receivers, projection), np.empty(num_phases, np.float32))

    def work(index: int) -> None:
        with _workspaces.one() as workspace:
            buffer = workspace.tile(layer) if kept is None else kept.projections
            p = workspace.phases(layer) if kept is None else kept.phases
            array = buffer.numpy().reshape(-1)
            for lo, hi in layer.plan.chunks[index].tiles:
                origin = lo if kept is None else 0
                torch.mm(layer.x_receiver[lo:hi], layer.by_feature, out=buffer[lo - origin : hi - origin])
                kernel(lo, hi, origin, array, *layer.arrays, p, kept is not None, *outputs)

    run_chunks(work, len(layer.plan.chunks), with_blas=True)
    return S, G, kept


def backward(
    inputs: Inputs, grad_S: Tensor, grad_G: Tensor | None, needs: Mapping[str, bool], kept: Kept | None
) -> dict[str, Tensor | None]:
    """The gradients that are needed, by the names of ``inputs.tensors()``."""
    layer = kept.layer if kept else _prepare(inputs)
    x_receiver, x_sender, weight, _, phase = _generated(inputs)
    chunks = layer.plan.chunks
    D, F, num_projections, width = layer.padded_width, layer.padded_projections, layer.num_projections, x_sender.size(1)
    num_bands, receiver_width = inputs.frequencies.numel(), x_receiver.size(1)
    found: dict[str, Tensor | None] = {
        name: torch.empty(tensor.shape) if needs[name] and tensor is not None else None
        for name, tensor in (("x_receiver", x_receiver), ("phase", phase), *per_edge(inputs))
    }
    grad_receiver = found["x_receiver"]
    outputs = flat(found["phase"]), flat(found["edge_phase"]), flat(found["edge_weight"])
    arriving = flat(grad_S), flat(grad_G)
    needs_weight = needs["weight"]
    # The first chunk adds to the result itself, each other one to a buffer of its own.
    senders = torch.zeros(x_sender.size(0), D)
    buffers = [torch.empty(chunk.high - chunk.low, D) for chunk in chunks[1:]]
    weight_sums = torch.empty(len(chunks) if needs_weight else 0, receiver_width, F * D)
    bias_sums = np.zeros((len(chunks), F * D))
    frequency_sums = np.zeros((len(chunks), num_bands * F if needs["frequencies"] else 0))
    gate_sums = np.zeros((len(chunks), 2 * num_bands * F))
    kernel = kernels(layer.lanes, register_width())[1]

    def work(index: int) -> None:
        chunk = chunks[index]
        flat_sender = (buffers[index - 1].zero_() if index else senders).numpy().reshape(-1)
        with _workspaces.one() as workspace:
            buffer = workspace.tile(layer)
            grad_tile = buffer.numpy().reshape(-1)
            tile = kept.projections.numpy().reshape(-1) if kept else grad_tile
            p = kept.phases if kept else workspace.phases(layer)
            for lo, hi in chunk.tiles:
                x, part = layer.x_receiver[lo:hi], buffer[: hi - lo]
                if kept is None:
                    torch.mm(x, layer.by_feature, out=part)
                kernel(
                    lo, hi, 0 if kept else lo, tile, *layer.arrays, p, kept is not None, grad_tile, *arriving,
                    chunk.low if index else 0, flat_sender, bias_sums[index], *outputs, frequency_sums[index],
                    gate_sums[index],
                )  # fmt: skip
                if needs_weight and lo == chunk.first:
                    torch.mm(x.t(), part, out=weight_sums[index])
                elif needs_weight:
                    weight_sums[index].addmm_(x.t(), part)
                if grad_receiver is not None:
                    torch.mm(part, layer.by_projection, out=grad_receiver[lo:hi])

    run_chunks(work, len(chunks), with_blas=True)
    if needs["x_sender"]:
        add_senders(chunks[1:], buffers, senders)
        found["x_sender"] = senders[:, :width].contiguous()
    if needs_weight:
        sums = torch.from_numpy(weight_sums.numpy().sum(0)).t().contiguous().view(F, D, receiver_width)
        found["weight"] = sums[:num_projections, :width].reshape(weight.shape)
    if needs["bias"]:
        found["bias"] = single(bias_sums).view(F, D)[:num_projections, :width].reshape(-1)
    if needs["frequencies"]:
        found["frequencies"] = single(frequency_sums.reshape(len(chunks), num_bands, F).sum(2))
    if needs["gate"]:
        found["gate"] = single(gate_sums).view(-1, F)[:, :num_projections].reshape(-1)
    return found


def _generated(inputs: Inputs) -> Generated:
    assert isinstance(inputs.phases, Generated)
    return inputs.phases
