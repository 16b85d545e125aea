"""The fused CPU backend: generator tiles by BLAS, everything per edge in numba kernels.

Forward, for every tile of every chunk of receivers: ``F_v`` of the tile in one matrix product, then the kernel reads it
for all edges of its receivers. Backward: the same again, the kernel turns the tile into ``dF_v``, and two matrix
products make its share of ``dW_f`` and ``dh_v``. Saved for backward are the inputs alone. Chunks have their own
buffers, summed in order: the same bits on any number of threads.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from mshgnn.ops.plan import Chunk, Plan, plan_for, tiles
from mshgnn.ops.threads import run_chunks

Floats = npt.NDArray[np.float32]
COMPILE_SECONDS = 20
ANNOUNCE_AFTER = 2.0  # seconds; a load from the disk cache takes less


class _Announcement:
    """Says that kernels are being compiled, unless they came from the disk in no time."""

    def __init__(self) -> None:
        self._timer = threading.Timer(ANNOUNCE_AFTER, self._say)
        self._timer.daemon = True

    def _say(self) -> None:
        text = f"mshgnn: compiling CPU kernels (once per machine, about {COMPILE_SECONDS} s)"
        print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


@cache
def kernels(lanes: int) -> tuple[Callable[..., int], Callable[..., int]]:
    """The compiled forward and backward kernels for registers of ``lanes`` numbers."""
    from mshgnn.ops import kernels as module
    from mshgnn.ops import lanes as registers

    with _Announcement():
        sources = b"".join(Path(str(part.__file__)).read_bytes() for part in (module, registers))
        digest = int(hashlib.sha256(sources).hexdigest()[:12], 16)
        forward, backward = module.build_kernels(lanes, digest)
    return forward, backward


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

    def phase_buffer(self) -> Floats:
        """Room for the phases of the receiver with the most edges, rounded up to a whole group."""
        return np.empty((self.plan.largest_degree + 4) * self.padded_projections, np.float32)

    def tile_buffer(self, chunk: Chunk) -> tuple[list[tuple[int, int]], Tensor]:
        """The tiles of a chunk and room for the largest."""
        floats = self.padded_width * self.padded_projections
        parts = tiles(chunk, floats)
        return parts, torch.empty(parts[0][1] - parts[0][0], floats)


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
    more, more_projections = -width % lanes, -num_projections % lanes
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
    by_feature = w.permute(2, 1, 0).reshape(receiver_width, D * F)
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
) -> tuple[Tensor, Tensor]:
    """``S`` and ``G`` (no rows without a gate)."""
    layer = _prepare(x_receiver, x_sender, weight, bias, phase, rowptr, sender, frequencies, edge_phase, gate, gating)
    width = 2 * frequencies.numel() * layer.num_projections
    S = x_receiver.new_empty(x_receiver.size(0), width)
    G = x_receiver.new_empty(x_receiver.size(0) if gating else 0, width)
    flat_S, flat_G = S.numpy().reshape(-1), G.numpy().reshape(-1)
    kernel = kernels(layer.lanes)[0]

    def work(index: int) -> None:
        parts, tile = layer.tile_buffer(layer.plan.chunks[index])
        p = layer.phase_buffer()
        flat_tile = tile.view(-1).numpy()
        for lo, hi in parts:
            torch.mm(layer.x_receiver[lo:hi], layer.by_feature, out=tile[: hi - lo])
            kernel(lo, hi, flat_tile, *layer.arrays, p, flat_S, flat_G)

    run_chunks(work, len(layer.plan.chunks))
    return S, G


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
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of x_receiver, x_sender, weight, bias, phase, frequencies, edge_phase, gate; empty if not needed."""
    layer = _prepare(x_receiver, x_sender, weight, bias, phase, rowptr, sender, frequencies, edge_phase, gate, gating)
    chunks = layer.plan.chunks
    D, F, num_projections = layer.padded_width, layer.padded_projections, layer.num_projections
    num_bands, receiver_width = frequencies.numel(), x_receiver.size(1)
    needs_receiver, _, needs_weight, _, needs_phase, needs_frequencies, needs_edge_phase, _ = needs

    def room(like: Tensor | None, needed: bool) -> Tensor:
        return (
            torch.empty_like(like, memory_format=torch.contiguous_format)
            if needed and like is not None
            else torch.empty(0)
        )

    grad_receiver = room(x_receiver, needs_receiver)
    grad_phase = room(phase, needs_phase)
    grad_edge_phase = room(edge_phase, needs_edge_phase)
    outputs = (_flat(grad_phase), _flat(grad_edge_phase))
    inputs = (_flat(grad_S), _flat(grad_G))
    senders = [torch.empty(0)] * len(chunks)
    weights = [torch.empty(0)] * len(chunks)
    biases = np.zeros((len(chunks), F * D))
    frequency_sums = np.zeros((len(chunks), num_bands * F if needs_frequencies else 0))
    gate_sums = np.zeros((len(chunks), 2 * num_bands * F))
    kernel = kernels(layer.lanes)[1]

    def work(index: int) -> None:
        chunk = chunks[index]
        parts, tile = layer.tile_buffer(chunk)
        p = layer.phase_buffer()
        flat_tile = tile.view(-1).numpy()
        grad_sender = torch.zeros(chunk.high - chunk.low, D)
        grad_weight = torch.zeros(F * D, receiver_width) if needs_weight else torch.empty(0)
        flat_sender = grad_sender.view(-1).numpy()
        for lo, hi in parts:
            x, part = layer.x_receiver[lo:hi], tile[: hi - lo]
            torch.mm(x, layer.by_feature, out=part)
            kernel(
                lo, hi, flat_tile, *layer.arrays, p, *inputs, chunk.low, flat_sender, biases[index], *outputs,
                frequency_sums[index], gate_sums[index],
            )  # fmt: skip
            if needs_weight:
                grad_weight.addmm_(part.t(), x)
            if needs_receiver:
                torch.mm(part, layer.by_projection, out=grad_receiver[lo:hi])
        senders[index], weights[index] = grad_sender, grad_weight

    run_chunks(work, len(chunks))
    width = x_sender.size(1)
    grad_sender = torch.empty(0)
    if needs[1]:
        grad_sender = torch.zeros(x_sender.size(0), D)
        for chunk, partial in zip(chunks, senders, strict=True):
            grad_sender[chunk.low : chunk.high] += partial
        grad_sender = grad_sender[:, :width].contiguous()
    grad_weight = torch.empty(0)
    if needs_weight:
        grad_weight = torch.zeros(F * D, receiver_width)
        for partial in weights:
            grad_weight += partial
        grad_weight = _trim(grad_weight.view(F, D, -1), num_projections, width).reshape(weight.shape)
    grad_bias = torch.empty(0)
    if needs[3]:
        sums = torch.from_numpy(biases.sum(0)).float().view(F, D, 1)
        grad_bias = _trim(sums, num_projections, width).reshape(bias.shape)
    grad_frequencies = torch.empty(0)
    if needs_frequencies:
        grad_frequencies = torch.from_numpy(frequency_sums.sum(0)).view(num_bands, F).sum(1).float()
    grad_gate = torch.empty(0)
    if needs[7]:
        grad_gate = torch.from_numpy(gate_sums.sum(0)).float().view(-1, F)[:, :num_projections].reshape(-1)
    return (
        grad_receiver, grad_sender, grad_weight, grad_bias, grad_phase, grad_frequencies, grad_edge_phase, grad_gate
    )  # fmt: skip


def _trim(padded: Tensor, num_projections: int, width: int) -> Tensor:
    return padded[:num_projections, :width]
