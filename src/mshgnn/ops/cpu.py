"""The fused CPU backend: generator tiles by BLAS, everything per edge in numba kernels.

Forward, for every tile of every chunk of receivers: ``F_v`` of the tile in one matrix product, then the kernel reads it
for all edges of its receivers. Backward: the same again, the kernel turns the tile into ``dF_v``, and two matrix
products make its share of ``dW_f`` and ``dh_v``. Saved for backward are the inputs alone, and on small graphs ``F_v``
and the phases. Chunks have their own buffers, summed in order: the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from mshgnn.ops.compiled import kernels, register_width
from mshgnn.ops.plan import Chunk, Plan, plan_for
from mshgnn.ops.threads import run_chunks

Floats = npt.NDArray[np.float32]
WORKSPACE_FLOATS = 2**22  # a workspace of more than 16 MB is not kept
SENDER_BLOCK = 2**13  # rows of sender gradients that one thread adds up at a time
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


def _flat(tensor: Tensor | None) -> Floats:
    array: Floats = np.empty(0, np.float32) if tensor is None else tensor.detach().contiguous().numpy().reshape(-1)
    return array


def _prepare(
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    rowptr: Tensor,
    sender: Tensor,
    frequencies: Tensor,
    edge_phase: Tensor | None,
    gate: Tensor | None,
    gating: int,
) -> Layer:
    num_senders, width = x_sender.shape
    receiver_width = x_receiver.size(1)
    num_projections = weight.size(0) // width
    plan = plan_for(rowptr, sender, num_senders, (receiver_width, width, num_projections))
    lanes = 16 if (num_projections - 1) % 16 >= 8 else 8  # the padding that wastes less
    more, more_projections = -width % WIDE, -num_projections % lanes
    D, F = width + more, num_projections + more_projections
    w = weight.detach().view(num_projections, width, receiver_width)
    b = bias.detach().view(num_projections, width)
    x = x_sender.detach()
    a = gate
    if more:
        x = pad(x, (0, more))
    if more or more_projections:
        w = pad(w, (0, 0, 0, more, 0, more_projections))
        b = pad(b, (0, more, 0, more_projections))
    if gate is not None and more_projections:
        a = pad(gate.detach().view(-1, num_projections), (0, more_projections))
    w = w.contiguous()
    bands = frequencies.tolist()
    doubling = all(2 * low == high for low, high in pairwise(bands))
    arrays = (
        _flat(b.t()),
        _flat(x),
        _flat(phase),
        plan.rowptr,
        plan.senders,
        _flat(edge_phase),
        _flat(frequencies),
        doubling,
        _flat(a),
        gating,
        num_projections,
        D,
        F,
    )
    by_projection = w.view(F * D, receiver_width)
    # numpy copies on this thread: torch would wake its own threads, which then spin while ours work
    by_feature = torch.from_numpy(w.numpy().transpose(2, 1, 0).reshape(receiver_width, D * F))
    x_receiver = x_receiver.detach().contiguous()
    return Layer(lanes, num_projections, D, F, plan, x_receiver, by_feature, by_projection, arrays)


def forward(
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    rowptr: Tensor,
    sender: Tensor,
    frequencies: Tensor,
    edge_phase: Tensor | None,
    gate: Tensor | None,
    gating: int,
    keep: bool = False,
) -> tuple[Tensor, Tensor, Kept | None]:
    """``S``, ``G`` (no rows without a gate), and with ``keep`` what the backward pass can use if the graph is small."""
    layer = _prepare(x_receiver, x_sender, weight, bias, phase, rowptr, sender, frequencies, edge_phase, gate, gating)
    num_receivers, projection = x_receiver.size(0), layer.padded_width * layer.padded_projections
    num_phases = sender.numel() * layer.padded_projections
    width = 2 * frequencies.numel() * layer.num_projections
    S = torch.empty(num_receivers, width)
    G = torch.empty(num_receivers if gating else 0, width)
    outputs = S.numpy().reshape(-1), G.numpy().reshape(-1)
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

    run_chunks(work, len(layer.plan.chunks))
    return S, G, kept


def backward(
    grad_S: Tensor,
    grad_G: Tensor,
    x_receiver: Tensor,
    x_sender: Tensor,
    weight: Tensor,
    bias: Tensor,
    phase: Tensor | None,
    rowptr: Tensor,
    sender: Tensor,
    frequencies: Tensor,
    edge_phase: Tensor | None,
    gate: Tensor | None,
    gating: int,
    needs: list[bool],
    kept: Kept | None = None,
) -> list[Tensor | None]:
    """Gradients of x_receiver, x_sender, weight, bias, phase, frequencies, edge_phase, gate, where they are needed."""
    layer = (
        kept.layer
        if kept
        else _prepare(x_receiver, x_sender, weight, bias, phase, rowptr, sender, frequencies, edge_phase, gate, gating)
    )
    chunks = layer.plan.chunks
    D, F, num_projections, width = layer.padded_width, layer.padded_projections, layer.num_projections, x_sender.size(1)
    num_bands, receiver_width = frequencies.numel(), x_receiver.size(1)
    needs_receiver, needs_sender, needs_weight, needs_bias = needs[:4]
    needs_phase, needs_frequencies, needs_edge_phase, needs_gate = needs[4:]
    grad_sender = grad_weight = grad_bias = grad_frequencies = grad_gate = None
    grad_receiver = torch.empty(x_receiver.shape) if needs_receiver else None
    grad_phase = torch.empty(phase.shape) if needs_phase and phase is not None else None
    grad_edge_phase = torch.empty(edge_phase.shape) if needs_edge_phase and edge_phase is not None else None
    outputs = _flat(grad_phase), _flat(grad_edge_phase)
    inputs = _flat(grad_S), _flat(grad_G)
    sender_sums = [torch.empty(chunk.high - chunk.low, D) for chunk in chunks]
    weight_sums = torch.empty(len(chunks) if needs_weight else 0, receiver_width, F * D)
    bias_sums = np.zeros((len(chunks), F * D))
    frequency_sums = np.zeros((len(chunks), num_bands * F if needs_frequencies else 0))
    gate_sums = np.zeros((len(chunks), 2 * num_bands * F))
    kernel = kernels(layer.lanes, register_width())[1]

    def work(index: int) -> None:
        chunk = chunks[index]
        flat_sender = sender_sums[index].zero_().numpy().reshape(-1)
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
                    lo, hi, 0 if kept else lo, tile, *layer.arrays, p, kept is not None, grad_tile, *inputs, chunk.low,
                    flat_sender, bias_sums[index], *outputs, frequency_sums[index], gate_sums[index],
                )  # fmt: skip
                if needs_weight and lo == chunk.first:
                    torch.mm(x.t(), part, out=weight_sums[index])
                elif needs_weight:
                    weight_sums[index].addmm_(x.t(), part)
                if grad_receiver is not None:
                    torch.mm(part, layer.by_projection, out=grad_receiver[lo:hi])

    run_chunks(work, len(chunks))
    if needs_sender:
        grad_sender = _sum_senders(chunks, sender_sums, x_sender.size(0), D)[:, :width].contiguous()
    if needs_weight:
        sums = torch.from_numpy(weight_sums.numpy().sum(0)).t().contiguous().view(F, D, receiver_width)
        grad_weight = sums[:num_projections, :width].reshape(weight.shape)
    if needs_bias:
        grad_bias = _single(bias_sums).view(F, D)[:num_projections, :width].reshape(-1)
    if needs_frequencies:
        grad_frequencies = _single(frequency_sums.reshape(len(chunks), num_bands, F).sum(2))
    if needs_gate:
        grad_gate = _single(gate_sums).view(-1, F)[:, :num_projections].reshape(-1)
    return [
        grad_receiver, grad_sender, grad_weight, grad_bias, grad_phase, grad_frequencies, grad_edge_phase, grad_gate
    ]  # fmt: skip


def _sum_senders(chunks: list[Chunk], parts: list[Tensor], num_senders: int, width: int) -> Tensor:
    """The gradients of all senders from those of the chunks, added in the order of the chunks."""
    if len(parts) == 1 and parts[0].size(0) == num_senders:
        return parts[0]
    total = torch.empty(num_senders, width)
    array, arrays = total.numpy(), [part.numpy() for part in parts]

    def work(block: int) -> None:
        first, last = block * SENDER_BLOCK, min((block + 1) * SENDER_BLOCK, num_senders)
        array[first:last] = 0
        for chunk, part in zip(chunks, arrays, strict=True):
            low, high = max(first, chunk.low), min(last, chunk.high)
            if low < high:
                array[low:high] += part[low - chunk.low : high - chunk.low]

    blocks = -(-num_senders // SENDER_BLOCK)
    if blocks == 1:
        work(0)
    else:
        run_chunks(work, blocks)
    return total


def _single(sums: npt.NDArray[np.float64]) -> Tensor:
    """The float64 sums of the chunks, added and rounded once."""
    return torch.from_numpy(sums.sum(0)).float()
